"""Reasons: the closed list is the one the design states, word for word and in its order."""

from curation.reasons import Drop, Fate, Quarantine, Split

# "Tables" of the design
DROP = """not_selected not_sampled orphan_part empty damaged_file language length signal pareto removal_list
exact_duplicate near_duplicate reference_duplicate contaminated too_many_pieces too_short_after_cuts"""
QUARANTINE = "decode parse truncated bomb unsafe_member too_large crash timeout"


def test_the_fates_are_four():
    assert [fate.value for fate in Fate] == ["keep", "drop", "split", "quarantine"]


def test_the_reasons_are_the_designs():
    assert [reason.value for reason in Drop] == DROP.split()
    assert [reason.value for reason in Split] == ["contaminated"]
    assert [reason.value for reason in Quarantine] == QUARANTINE.split()
