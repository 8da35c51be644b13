import os
from pathlib import Path

import pytest

from curation.demo.fetch import missing
from curation.demo.prepare import prepare

DOWNLOADS = Path(os.environ.get("CURATION_DEMO_DOWNLOADS", "build/demo/packages"))


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's input folder, prepared from what `make demo` fetched; tests that need it are skipped before that."""
    if not DOWNLOADS.is_dir() or missing(DOWNLOADS):
        pytest.skip(f"{DOWNLOADS} does not hold the demo's packages; `make demo` fetches them")
    folder = tmp_path_factory.mktemp("demo")
    prepare(DOWNLOADS, folder)
    return folder
