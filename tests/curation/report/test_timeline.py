"""The timeline: jobs one after the other, stages of one scan together, and no time where none was written down."""

from curation.commits import Manifest
from curation.ledger import Count, Entry
from curation.report.timeline import timeline


def manifest(stage: str, **timing: float) -> Manifest:
    return Manifest(stage, "k", "i", (), {"timing": timing} if timing else {})


def test_stages_of_one_scan_are_one_span_and_pauses_do_not_count() -> None:
    found = timeline(
        {
            "ingest": manifest("ingest", started=100.0, seconds=10.0),
            "signals": manifest("signals", started=5000.0, seconds=4.0),
            "matches": manifest("matches", started=5000.0, seconds=5.0),
            "filter": manifest("filter"),
        },
        [Entry("ingest", "web", received=Count(60, 600), out=Count(50, 500))],
    )
    assert [(span.stages, span.offset, span.seconds) for span in found] == [
        (("ingest",), 0.0, 10.0),
        (("signals", "matches"), 10.0, 5.0),
    ]
    assert [span.documents_per_second for span in found] == [6.0, 10.0]
    assert found[1].bytes == 500


def test_every_reason_has_a_meaning() -> None:
    from curation.reasons import MEANINGS, Drop, Quarantine

    assert set(MEANINGS) == {*(reason.value for reason in Drop), *(reason.value for reason in Quarantine)}
