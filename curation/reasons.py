"""The closed list of what can happen to a document, and why.

The same words stand in the verdicts, in the ledger, in the report and on the command line. Adding one is a
change of contract: `schemas`, the documentation and the tests read this list.
"""

from enum import StrEnum


class Fate(StrEnum):
    """What a stage decided about a document (or ingest about a unit)."""

    KEEP = "keep"
    DROP = "drop"
    SPLIT = "split"
    QUARANTINE = "quarantine"


class Drop(StrEnum):
    """Why a unit or document goes no further, though nothing was wrong with its bytes."""

    NOT_SELECTED = "not_selected"  # in a container, and no source asks for its set
    NOT_SAMPLED = "not_sampled"  # the source's sample left it out
    ORPHAN_PART = "orphan_part"  # an answer without its question
    EMPTY = "empty"
    DAMAGED_FILE = "damaged_file"  # from a file that damage = "quarantine_file" gives up
    LANGUAGE = "language"
    LENGTH = "length"
    SIGNAL = "signal"  # `detail` names the signal
    PARETO = "pareto"
    REMOVAL_LIST = "removal_list"
    EXACT_DUPLICATE = "exact_duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    REFERENCE_DUPLICATE = "reference_duplicate"  # of a document that is matched against and never emitted
    CONTAMINATED = "contaminated"
    TOO_MANY_PIECES = "too_many_pieces"
    TOO_SHORT_AFTER_CUTS = "too_short_after_cuts"


MEANINGS = {
    "not_selected": "in a container from which no source asks for its set, or of a source that is only matched against",
    "not_sampled": "left out by the source's sample, or beyond its max_documents",
    "orphan_part": "an answer whose question is not there",
    "empty": "no text was found in it",
    "damaged_file": "its file is damaged, and the recipe gives such files up",
    "language": "in another language than the profile keeps, or too little of it in one",
    "length": "shorter or longer than the profile allows",
    "signal": "a measured number lies beyond a limit of the profile",
    "pareto": "lost the coin that the classifier's score weighs",
    "removal_list": "named by the removal list or the list of blocked addresses",
    "exact_duplicate": "the same text, but for case and spaces, as a document that stays",
    "near_duplicate": "at least as similar to a document that stays as the threshold says",
    "reference_duplicate": "a duplicate of a document that is only matched against",
    "contaminated": "nothing long enough is left around the benchmark text in it",
    "too_many_pieces": "benchmark text would cut it into more pieces than allowed",
    "too_short_after_cuts": "what benchmark text leaves of it is too short",
    "decode": "its bytes are no text in any encoding that was declared or found",
    "parse": "its structure is broken: a line that is no JSON, a record without its text",
    "truncated": "its file ends, or is torn, in the middle of it",
    "bomb": "its compressed data grows out of all proportion",
    "unsafe_member": "the name of an archive member leaves its folder",
    "too_large": "larger than limits.max_document_mib",
    "crash": "a library failed on it",
    "timeout": "extracting its text took longer than limits.max_cpu_seconds",
}


class Split(StrEnum):
    """Why a document was cut."""

    CONTAMINATED = "contaminated"


class Quarantine(StrEnum):
    """Why a unit could not be used at all: its class of error."""

    DECODE = "decode"
    PARSE = "parse"
    TRUNCATED = "truncated"
    BOMB = "bomb"
    UNSAFE_MEMBER = "unsafe_member"
    TOO_LARGE = "too_large"
    CRASH = "crash"
    TIMEOUT = "timeout"
