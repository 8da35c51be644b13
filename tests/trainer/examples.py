"""A few examples of each task, made up for the tests, in the layouts of the original files."""

import json
from pathlib import Path
from typing import Any

RECORDS: dict[str, list[dict[str, Any]]] = {
    "lambada": [
        {"text": "Marta hung the wet coats by the stove. Steam rose from every sleeve, and she turned each coat"},
        {"text": '"Did the ferry leave?" asked Tom.\n\n"An hour ago," said the clerk, and shut the door of the office'},
        {"text": "He had lost the key to the boathouse twice that year, so his sister wore the spare key"},
        {"text": "The orchestra waited. The conductor looked for his baton, and in the end he picked up a pencil"},
        {"text": "We counted the geese at dusk, and again at dawn, and never once did we get the same number twice"},
    ],
    "piqa": [
        {
            "goal": "keep a door from slamming",
            "sol1": "Wedge a folded towel over its top edge.",
            "sol2": "Oil the window.",
            "label": 0,
        },
        {
            "goal": "find the stud in a wall",
            "sol1": "Listen at the floor.",
            "sol2": "Slide a magnet along it until it catches a nail.",
            "label": 1,
        },
        {
            "goal": "Cool a bottle quickly?",
            "sol1": "Wrap it in a wet cloth and put it in the freezer.",
            "sol2": "Wrap it in a dry cloth.",
            "label": 0,
        },
        {
            "goal": "carry eggs on a bicycle ",
            "sol1": "Hang them from the chain.",
            "sol2": "Pack them in oats inside a tin.",
            "label": 1,
        },
        {
            "goal": "mend a leaking hose",
            "sol1": "Cut out the leak and join the ends with a short pipe.",
            "sol2": "Turn the tap up.",
            "label": 0,
        },
    ],
    "boolq": [
        {
            "passage": "The Lorne is a river of 40 km. It never freezes.",
            "question": "does the lorne freeze in winter",
            "label": False,
        },
        {
            "passage": "A brass plate marks the spot where the mill stood until 1904.",
            "question": "is there a mark where the mill stood",
            "label": True,
        },
        {
            "passage": "Members vote by post. A quorum is twenty votes.",
            "question": "do members need to meet to vote",
            "answer": False,
        },
        {
            "passage": "The tower has two clocks; the northern one strikes the hours.",
            "question": "does one of the clocks strike",
            "answer": True,
        },
    ],
    "hellaswag": [
        {
            "activity_label": "Baking bread",
            "ctx_a": "A man kneads dough on a table.",
            "ctx_b": "he",
            "ctx": "A man kneads dough on a table. he",
            "endings": ["puts it under a cloth to rise.", "rides it to town.", "paints it blue.", "sings to a horse."],
            "label": 0,
        },
        {
            "activity_label": "Gardening",
            "ctx_a": "[header] How to prune roses [title] Clean the shears.",
            "ctx_b": "",
            "ctx": "How to prune roses Clean the shears.",
            "endings": [
                "Boil the roses.",
                "Wipe the blades  with spirit. [substeps] Dry them.",
                "Close the shop.",
                "Bury the shears.",
            ],
            "label": "1",
        },
        {
            "activity_label": "Rowing",
            "ctx_a": "Two women carry a boat to the water.",
            "ctx_b": "they",
            "ctx": "Two women carry a boat to the water. they",
            "endings": ["eat the oars.", "fold it twice.", "step in and push off.", "melt."],
            "label": 2,
        },
    ],
    "winogrande": [
        {
            "sentence": "The jar would not fit in the box because the _ was too tall.",
            "option1": "jar",
            "option2": "box",
            "answer": "1",
        },
        {
            "sentence": "Ada lent Ruth her notes, since _ had missed the lecture.",
            "option1": "Ada",
            "option2": "Ruth",
            "answer": "2",
        },
        {
            "sentence": "The rope outlasted the chain, as the _ had rusted through.",
            "option1": "rope",
            "option2": "chain",
            "answer": "2",
        },
    ],
    "anli": [
        {
            "uid": "a",
            "context": "The bridge was opened in 1931 by the mayor.",
            "hypothesis": "The bridge is older than 1950.",
            "label": "e",
        },
        {
            "uid": "b",
            "context": "The bridge was opened in 1931 by the mayor.",
            "hypothesis": "The mayor had built bridges before.",
            "label": "n",
        },
        {
            "uid": "c",
            "context": "Ilse plays the viola in two quartets.",
            "hypothesis": "Ilse plays no instrument.",
            "label": "c",
        },
    ],
    "hans": [
        {
            "gold_label": "entailment",
            "heuristic": "subsequence",
            "sentence1": "The nurse and the cook sang.",
            "sentence2": "The cook sang.",
        },
        {
            "gold_label": "non-entailment",
            "heuristic": "lexical_overlap",
            "sentence1": "The cook saw the nurse.",
            "sentence2": "The nurse saw the cook.",
        },
    ],
    "wic": [
        {
            "word": "bank",
            "sentence1": "We sat on the bank of the canal.",
            "sentence2": "The bank closes at four.",
            "start1": 14,
            "end1": 18,
            "label": False,
        },
        {
            "word": "run",
            "sentence1": "She runs every morning.",
            "sentence2": "He ran to the gate.",
            "start1": 4,
            "end1": 8,
            "label": True,
        },
        {
            "word": "light",
            "sentence1": "Travel light.",
            "sentence2": "The light went out.",
            "start1": 7,
            "end1": 12,
            "label": False,
        },
    ],
    "race": [
        {
            "article": "Nina keeps bees on the roof of her school. The class sells the honey to pay for seeds.",
            "questions": ["Where are the bees?", "The honey pays for  _  ."],
            "options": [
                ["On a roof", "In a cellar", "By a lake", "In a park"],
                ["books", "seeds", "a trip", "new hives"],
            ],
            "answers": ["A", "B"],
        },
    ],
}


def write(folder: Path) -> dict[str, Path]:
    """Write the files of all tasks, and return where they are."""
    paths = {name: folder / f"{name}.jsonl" for name in RECORDS}
    for name, path in paths.items():
        path.write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS[name]), "utf-8")
    return paths
