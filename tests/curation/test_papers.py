"""The schemas in the repository are those of the models, and the models are those of the files that are written."""

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from curation import papers
from tests.workfolder import make_work_folder


@pytest.mark.parametrize("name", papers.PAPERS)
def test_the_schema_in_the_repository_is_the_models(name: str) -> None:
    assert papers.path(name).read_text("utf-8") == papers.text(name), "run: python -m curation.papers"


def test_no_schema_is_left_of_a_paper_that_is_gone() -> None:
    assert sorted(path.name for path in papers.SCHEMAS.glob("*.schema.json")) == sorted(
        papers.path(name).name for name in papers.PAPERS
    )


@pytest.mark.parametrize("model", ["Recipe", "Source", "Container", "QualityModel", "Tokens", "DedupSettings"])
def test_every_key_of_a_recipe_says_what_it_means(model: str) -> None:
    schema = papers.schema("recipe")
    about = schema if model == "Recipe" else schema["$defs"][model]
    assert not [key for key, value in about["properties"].items() if "description" not in value]


def test_the_files_of_a_work_folder_are_what_the_models_say(tmp_path: Path) -> None:
    work = make_work_folder(tmp_path)
    forms = {"*/commits/*.json": papers.CommitPaper, "*/manifests/*.json": papers.ManifestPaper}
    forms |= {"latest.json": papers.LatestPaper, "shards/*/shards.json": papers.PAPERS["shards"]}
    for pattern, model in forms.items():
        found = list(Path(work.root).glob(pattern))
        assert found
        for path in found:
            TypeAdapter(model).validate_python(json.loads(path.read_text()), strict=False)
