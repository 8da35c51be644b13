"""What each command prints for people. What programs read is the `to_json` of the same things."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from curation.clusters import Cluster
from curation.estimate import Corpus
from curation.explain import Explanation, Step, evidence, measured_in_words
from curation.ledger import Count, Entry
from curation.report.contents import Report
from curation.report.funnel import Step as FunnelStep
from curation.report.html import step_reasons
from curation.report.numbers import bytes_text, percent
from curation.shards.blend import Blend
from curation.takedown import Takedown
from curation.trace import Origin
from curation.verify import Verification
from jobs.console import Console, columns

_KEY_DIGITS = 16
_MOST_WORDS = 8  # lines about one step of a document


def show_plan(console: Console, steps: Sequence[Any], corpus: Corpus, files: int, free_bytes: int | None) -> None:
    """Print what would run and why, and what that needs; `steps` are jobs.pipeline.StagePlan."""
    rows = [[step.stage, step.key[:_KEY_DIGITS], *_plan_words(console, step)] for step in steps]
    console.table(["stage", "key", "", "writes about", "moves about", "why"], rows, right=(3, 4))
    todo = [step for step in steps if not step.committed]
    console.lines(["", f"{len(steps)} stages: {len(steps) - len(todo)} committed, {len(todo)} to run"])
    about = "" if corpus.known else "about "
    text = f"{about}{corpus.documents:,} documents, {bytes_text(corpus.text_bytes)} of text"
    console.lines([f"{files:,} input files: {text}"])
    if todo:
        room = f"; {bytes_text(free_bytes)} are free there" if free_bytes is not None else ""
        console.lines([f"Needs about {bytes_text(sum(step.stored_bytes for step in todo))} in the work folder{room}."])


def _plan_words(console: Console, step: Any) -> list[str]:
    if step.committed:
        return [console.paint("committed", "green"), "", "", ""]
    resumed = f"{step.committed_items:,} of {step.items:,} items committed; " if step.committed_items else ""
    moved = bytes_text(step.shuffled_bytes) if step.shuffled_bytes else ""
    return [console.paint("runs", "bold"), bytes_text(step.stored_bytes), moved, resumed + step.reason]


def show_funnel(console: Console, report: Report) -> None:
    """Print the funnel over all sources, then the tokens."""
    rows = [_funnel_row(step) for step in report.total]
    head = ["stage", "in", "out", "% of in", "% of pool", "text", "% of text", "removed, mostly for"]
    console.table(head, rows, right=range(1, 7))
    if report.shards is not None:
        console.lines(["", f"{report.tokens:,} tokens in {len(report.shards.pairs)} pairs"])


def _funnel_row(step: FunnelStep) -> list[str]:
    return [
        step.stage,
        f"{step.received.units:,}",
        f"{step.out.units:,}",
        percent(step.share_of_received),
        percent(step.share_of_pool),
        bytes_text(step.out.bytes),
        percent(step.byte_share_of_pool),
        ", ".join(step_reasons(step)),
    ]


def show_ledger(console: Console, entries: Sequence[Entry]) -> None:
    """Print every line of the ledger in units, with the text passed on; then what does not balance."""
    rows = [_ledger_row(console, entry) for entry in entries]
    head = ["stage", "source", "in", "keep", "drop", "split", "quarantine", "out", "bytes out", "", "reasons"]
    console.table(head, rows, right=range(2, 9))
    wrong = [f"{entry.stage} {entry.source}: {problem}" for entry in entries for problem in entry.problems]
    told = [console.paint(line, "red") for line in wrong] or [console.paint("Every line balances.", "green")]
    console.lines(["", *told])


def _ledger_row(console: Console, entry: Entry) -> list[str]:
    sums = [entry.received.units, entry.keep.units, _units(entry.drop.values()), entry.split.units]
    sums += [_units(entry.quarantine.values()), entry.out.units]
    reasons = [f"{reason} {count.units:,}" for reason, count in (*entry.drop.items(), *entry.quarantine.items())]
    reasons += [f"{reason} {bytes_text(size)} cut" for reason, size in entry.cut.items()]
    mark = console.paint("balanced", "green") if entry.balanced else console.paint("WRONG", "red")
    numbers = [f"{number:,}" for number in sums]
    return [entry.stage, entry.source, *numbers, bytes_text(entry.out.bytes), mark, ", ".join(sorted(reasons))]


def _units(counts: Iterable[Count]) -> int:
    return sum(count.units for count in counts)


def show_verification(console: Console, found: Verification) -> None:
    """Print one line per stage, then every problem."""
    rows = []
    for stage in found.stages:
        mark = console.paint("ok", "green") if stage.ok else console.paint(f"{len(stage.problems)} wrong", "red")
        rows.append([stage.stage, f"{stage.files:,}", f"{stage.rows:,}", stage.digest[:_KEY_DIGITS], mark])
    console.table(["stage", "files", "rows", "digest", ""], rows, right=(1, 2))
    problems = [f"{stage.stage}: {problem}" for stage in found.stages for problem in stage.problems]
    console.lines(["", *problems] if problems else ["", console.paint("Everything is as it was committed.", "green")])


def show_story(console: Console, story: Explanation, marks: Sequence[Mapping[str, Any]] = ()) -> None:
    """Print one document's way: what it is, what was measured, where marks lie in it, and a line for each stage."""
    about = story.about
    console.lines([console.paint(story.locator, "bold")])
    facts = [["doc_id", "none: its source is not known" if story.doc_id is None else str(story.doc_id)]]
    facts += [[name, about[name]] for name in ("url", "title") if about[name]]
    member = f", member {about['member']}" if about["member"] else ""
    facts.append(["place", f"{about['uri']}{member}, byte {about['offset']:,}"])
    size = f"{about['raw_bytes']:,} bytes in the file"
    facts.append(["size", size if about["text_bytes"] is None else f"{about['text_bytes']:,} bytes of text, {size}"])
    measured = measured_in_words(_measured(story.steps))
    facts += [["measured", "; ".join(measured)]] if measured else []
    facts += [[kind, where] for kind, where in _marks(marks)]
    console.lines(f"  {line}" for line in columns(facts))
    console.lines([""])
    console.lines(f"  {line}" for line in columns([row for step in story.steps for row in _story_rows(console, step)]))


def _marks(marks: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for kind in dict.fromkeys(mark["kind"] for mark in marks):
        spans = [f"{mark['start']:,}–{mark['end']:,}" for mark in marks if mark["kind"] == kind]
        yield kind, f"bytes {_some(spans)}"


def show_sides(console: Console, sides: Mapping[str, Any]) -> None:
    """Print the documents nearest to a threshold, those up to it first."""
    told = f"{sides['signal']} up to {sides['threshold']:,}", "above"
    if "bound" in sides:
        what = f"{sides['source']}: {sides['signal']}"
        below, from_on = f"{what} below the minimum of {sides['threshold']:,}", "at it or above"
        told = (
            (below, from_on)
            if sides["bound"] == "minimum"
            else (f"{what} up to the maximum of {sides['threshold']:,}", "above")
        )
    for heading, rows in zip(told, (sides["up_to"], sides["above"]), strict=True):
        console.lines([heading, *(f"{row['value']:>12,}  {row['doc_id']}  {row['locator']}" for row in rows)])


def show_origins(console: Console, origins: Sequence[Origin]) -> None:
    """Print, for each piece of a sample, its tokens, then the document's story."""
    for number, origin in enumerate(origins):
        console.lines([""] if number else [])
        last = origin.first_token + origin.tokens
        told = f"{origin.pair}, sequence {origin.sequence:,}, tokens {origin.first_token:,}–{last:,}"
        span = f"piece {origin.piece}, bytes {origin.start:,}–{origin.end:,} of the text"
        console.lines([console.paint(f"{told}: {span} of", "bold")])
        show_story(console, origin.story)


def show_takedown(console: Console, found: Takedown, earlier: str) -> None:
    """Print what a takedown changed; `earlier` is the folder of the pairs before it."""
    console.lines([f"{len(found.doc_ids):,} documents removed by the list: {_some(found.doc_ids)}"])
    console.lines([f"{len(found.shards):,} shards of the corpus changed: {_some(found.shards)}"])
    console.lines([f"{len(found.pairs):,} pairs changed, {found.kept_pairs:,} kept: {_some(found.pairs)}"])
    rows = [[one.pair, f"{len(one.sequences):,}", f"{len(one.samples):,}", _some(one.samples)] for one in found.held]
    if rows:
        console.lines(["", "What training on the earlier pairs read of them, by number of sample:"])
        console.table(["pair", "sequences", "samples", ""], rows, right=(1, 2))
    console.lines(["", f"The earlier pairs still stand in {earlier}, and the documents where ingest wrote them."])


def _some(names: Sequence[object]) -> str:
    told = ", ".join(map(str, names[:_MOST_WORDS]))
    return told + ", …" * (len(names) > _MOST_WORDS) if names else "none"


def show_blend(console: Console, blend: Blend, arguments: str) -> None:
    """Print the sources as training meets them, then Megatron's arguments."""
    rows = [[one.source, f"{one.weight:.5f}", f"{one.tokens:,}", f"{one.epochs:.2f}"] for one in blend.sources]
    console.table(["source", "weight", "tokens", "epochs"], rows, right=(1, 2, 3))
    console.lines(["", f"Epochs are of a training of {blend.training_tokens:,} tokens.", "", arguments])


def _measured(steps: Iterable[Step]) -> dict[str, Any]:
    return next((step.more["measured"] for step in steps if "measured" in step.more), {})


def _story_rows(console: Console, step: Step) -> list[list[str]]:
    """Return a step as rows: stage, fate, reason and the first of what is known, then the rest below it."""
    words = _story_words(step) or [""]
    if len(words) > _MOST_WORDS:
        words = [*words[:_MOST_WORDS], f"… and {len(words) - _MOST_WORDS:,} more, all of them with --json"]
    head = [step.stage, console.fate(step.fate), step.reason or "", words[0]]
    return [head, *(["", "", "", word] for word in words[1:])]


def _story_words(step: Step) -> list[str]:
    words = [evidence(step)] if evidence(step) else []
    if "other_locator" in step.more:
        words.append(f"of {step.more['other_locator']} (doc_id {step.other})")
    for cut in step.more.get("cuts", ()):
        words.append(f"bytes {cut['start']:,}–{cut['end']:,} cut ({cut['task']})")
    if step.stage == "assemble" and step.fate == "split":
        words += [f"piece {piece}: bytes {a:,}–{b:,}" for piece, (a, b) in enumerate(step.offsets)]
    for place in step.more.get("sequences", ()):
        words.append(f"{place['pair']}, sequence {place['sequence']:,} ({place['tokens']:,} tokens)")
    return words


def show_cluster(console: Console, cluster: Cluster) -> None:
    """Print the kept document of a cluster, then those dropped because of it."""
    rows = [[console.fate("keep"), str(cluster.kept.doc_id), "", "", cluster.kept.locator]]
    for one in cluster.dropped:
        similarity = f"{(one.jaccard_ppm or 0) / 1_000_000:.4f}"
        rows.append([console.fate("drop"), str(one.doc_id), one.reason or "", similarity, one.locator])
    console.table(["fate", "doc_id", "reason", "similarity", "document"], rows, right=(1, 3))


def show_checks(console: Console, checks: Sequence[Any]) -> None:
    """Print what a doctor found (jobs.doctor.Check), then what to do about what is missing."""
    missing = {True: console.paint("MISSING", "red"), False: console.paint("absent", "yellow")}
    well = console.paint("ok", "green")
    rows = [[check.name, well if check.ok else missing[check.needed], check.found] for check in checks]
    console.table(["what", "", "found"], rows)
    advice = [f"{check.name}: {check.advice}" for check in checks if not check.ok and check.advice]
    console.lines(["", *advice] if advice else ["", console.paint("Ready.", "green")])
