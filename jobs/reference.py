"""The reference pages of the documentation, written from what they describe: the command line and the recipe's models.

`python -m jobs.reference` writes them into docs/reference; a test says that they are current.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from curation.recipe import Recipe
from curation.sources.registry import READERS
from jobs import cli
from jobs.commands.examples import EXAMPLES

PLACE = Path(__file__).parents[1] / "docs" / "reference"


def pages() -> dict[str, str]:
    """Return the pages by file name."""
    return {"commands.md": _commands(), "recipe.md": _recipe()}


def _commands() -> str:
    lines = ["# Commands", "", "Results go to stdout, progress and errors to stderr.", ""]
    lines += [
        "0 done, 2 usage or recipe, 3 a data budget stopped the run, 4 integrity, 5 infrastructure, 130 interrupted."
    ]
    [group] = [action for action in cli.parser()._actions if isinstance(action, argparse._SubParsersAction)]
    about = {choice.dest: str(choice.help) for choice in group._choices_actions}
    for name, one in group.choices.items():
        lines += ["", f"## curate {name}", "", f"{about[name][:1].upper()}{about[name][1:]}.", ""]
        lines += [
            "```text",
            EXAMPLES.get(name, f"curate {name} --help"),
            "```",
            "",
            "| argument | meaning |",
            "|---|---|",
        ]
        lines += [f"| `{_name(action)}` | {_cell(_help(action))} |" for action in one._actions if action.dest != "help"]
    return "\n".join(lines) + "\n"


def _name(action: argparse.Action) -> str:
    values = action.metavar if isinstance(action.metavar, tuple) else (action.metavar or _choices(action),)
    shown = " ".join(str(value) for value in values if value)
    return (
        f"{', '.join(action.option_strings)} {shown}".strip() if action.nargs != 0 else ", ".join(action.option_strings)
    )


def _choices(action: argparse.Action) -> str:
    return "\\|".join(map(str, action.choices)) if action.choices else ""


def _help(action: argparse.Action) -> str:
    return str(action.help or "").replace("%(default)s", str(action.default))


def _recipe() -> str:
    schema = Recipe.model_json_schema(by_alias=True)
    lines = ["# Recipe", "", "A recipe is TOML. Every key, its kind, and what holds where it is left out.", ""]
    lines += [f"## {heading}\n\n{table}" for heading, table in _tables(schema)]
    lines += ["## Readers", "", "| reader | reads |", "|---|---|"]
    lines += [f"| `{name}` | {_cell(reader.forms)} |" for name, reader in READERS.items()]
    return "\n".join(lines) + "\n"


def _tables(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for heading, model in (("Top level", schema), *sorted(schema["$defs"].items())):
        if model.get("properties"):
            required = set(model.get("required", ()))
            rows = [_row(name, about, name in required) for name, about in model["properties"].items()]
            yield heading, "\n".join(["| key | kind | default | meaning |", "|---|---|---|---|", *rows, ""])


def _row(name: str, about: Mapping[str, Any], required: bool) -> str:
    default = "required" if required else f"`{json.dumps(about.get('default'), ensure_ascii=False)}`"
    default = default if len(default) < 60 else "see below"
    return f"| `{name}` | {_cell(_kind(about))} | {_cell(default)} | {_cell(str(about.get('description', '')))} |"


def _kind(about: Mapping[str, Any]) -> str:
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    if "anyOf" in about:
        return " or ".join(kind for one in about["anyOf"] if (kind := _kind(one)) != "null")
    if "enum" in about:
        return ", ".join(map(str, about["enum"]))
    if about.get("type") == "array":
        return f"list of {_kind(about.get('items', {})) or 'values'}"
    return str(about.get("const", about.get("type", "")))


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|").replace("\\\\|", "\\|").replace("<", "&lt;")


def main() -> None:
    """Write the pages."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (PLACE / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
