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
