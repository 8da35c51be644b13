import hashlib
from pathlib import Path

import pytest

import curation.demo.fetch as module
from curation.demo.packages import PACKAGES, Package
from curation.errors import InfrastructureError

WHEEL = b"not really a wheel"


def package(name: str, version: str) -> Package:
    digest = hashlib.sha256(WHEEL).hexdigest()
    return Package(name, version, f"{name}-{version}-py3-none-any.whl", digest, len(WHEEL), "MIT", "nothing")


def test_every_package_is_a_wheel_for_any_platform_pinned_by_sha256() -> None:
    for pinned in PACKAGES:
        assert pinned.file.endswith("-none-any.whl")
        assert pinned.version in pinned.file
        assert len(bytes.fromhex(pinned.sha256)) == 32
        assert pinned.terms
        assert pinned.text
    assert len({pinned.file for pinned in PACKAGES}) == len(PACKAGES)


def test_the_download_stays_modest() -> None:
    assert sum(pinned.size_bytes for pinned in PACKAGES) < 140_000_000


def test_two_releases_of_a_package_are_asked_for_in_two_calls() -> None:
    old, new, other = package("a", "1"), package("a", "2"), package("b", "1")
    assert module._one_release_each([old, new, other]) == [[old, other], [new]]


def test_whole_wheels_are_left_alone_and_pip_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = package("a", "1")
    (tmp_path / pinned.file).write_bytes(WHEEL)
    monkeypatch.setattr(module, "PACKAGES", (pinned,))
    monkeypatch.setattr(module, "_pip_download", lambda *_: pytest.fail("pip was asked"))
    module.fetch(tmp_path)


def test_a_wheel_that_is_not_the_pinned_one_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = package("a", "1")
    monkeypatch.setattr(module, "PACKAGES", (pinned,))
    monkeypatch.setattr(module, "_pip_download", lambda *_: (tmp_path / pinned.file).write_bytes(WHEEL[::-1]))
    with pytest.raises(InfrastructureError, match="a-1-py3-none-any"):
        module.fetch(tmp_path)


def test_a_failing_pip_is_an_infrastructure_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGES", (package("a", "1"),))
    monkeypatch.setattr(module.sys, "executable", "false")
    with pytest.raises(InfrastructureError, match="status 1"):
        module.fetch(tmp_path)
