"""The pipeline schedules as lists of passes, played through by their dependencies alone.

The orders are those of `torch.distributed.pipelining`, compared with it in a test. Playing them with the time of each
pass gives the length of a step, the share of it that processes wait, and how many microbatches a process holds at once.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from trainer.config import Layout

Schedule = Literal["gpipe", "1f1b", "interleaved"]


class Pass(NamedTuple):
    """One microbatch through one stage, forward or backward."""

    stage: int
    microbatch: int
    forward: bool


Order = Mapping[int, list[Pass]]  # of each pipeline process


def schedule_of(layout: Layout, microbatches: int) -> Schedule:
    """Return which schedule training uses: 1F1B cannot run with fewer microbatches than stages."""
    if layout.virtual > 1:
        return "interleaved"
    return "1f1b" if microbatches >= layout.pipeline else "gpipe"


def order(schedule: Schedule, pipeline: int, virtual: int, microbatches: int) -> Order:
    """Return the passes of each pipeline process in the order it makes them."""
    make = {"gpipe": _gpipe, "1f1b": _one_forward_one_backward, "interleaved": _interleaved}[schedule]
    return {rank: list(make(rank, pipeline, virtual, microbatches)) for rank in range(pipeline)}


def _gpipe(rank: int, pipeline: int, virtual: int, microbatches: int) -> Iterator[Pass]:
    for forward in (True, False):
        yield from (Pass(rank, number, forward) for number in range(microbatches))


def _one_forward_one_backward(rank: int, pipeline: int, virtual: int, microbatches: int) -> Iterator[Pass]:
    ahead = min(microbatches, pipeline - 1 - rank)
    yield from _alternating(ahead, [(rank, number) for number in range(microbatches)], lambda stage: stage)


def _interleaved(rank: int, pipeline: int, virtual: int, microbatches: int) -> Iterator[Pass]:
    """Go round by round: as many microbatches as make a round through each stage in turn."""
    size = microbatches // max(1, microbatches // pipeline)
    ahead = min((virtual - 1) * size + 2 * (pipeline - 1 - rank), microbatches * virtual)
    passes = [
        (run * pipeline + rank, number)
        for first in range(0, microbatches, size)
        for run in range(virtual)
        for number in range(first, first + size)
    ]
    # backward takes the stages of a round in the opposite order
    yield from _alternating(ahead, passes, lambda stage: 2 * rank + (virtual - 1) * pipeline - stage)


def _alternating(ahead: int, passes: list[tuple[int, int]], mirror: Callable[[int], int]) -> Iterator[Pass]:
    """Yield some forward passes, then one forward and one backward in turn, then the backward passes left."""
    back = [Pass(mirror(stage), number, False) for stage, number in passes]
    yield from (Pass(stage, number, True) for stage, number in passes[:ahead])
    for (stage, number), backward in zip(passes[ahead:], back, strict=False):
        yield Pass(stage, number, True)
        yield backward
    yield from back[len(passes) - ahead :]


@dataclass(frozen=True, slots=True)
class Played:
    """A schedule played through.

    Attributes:
        seconds: from the first pass to the end of the last, of any process.
        busy_seconds: of each pipeline process, in which it computes.
        held: microbatches of each pipeline process, most at a time that are forward and not yet backward, per stage
            passed.
    """

    seconds: float
    busy_seconds: tuple[float, ...]
    held: tuple[int, ...]

    @property
    def bubble(self) -> float:
        """Share of the step that the busiest process waits."""
        return 1 - max(self.busy_seconds) / self.seconds


def play(passes: Order, stages: int, seconds: Callable[[int, bool], float], hop_seconds: float = 0.0) -> Played:
    """Let each process make its passes in order, each as soon as what it needs has arrived.

    Args:
        passes: of each process.
        stages: runs of layers in all.
        seconds: of a pass, by stage and whether it is forward.
        hop_seconds: from the end of a pass until the next stage can use what it made.

    Raises:
        ValueError: the processes wait for each other.
    """
    done: dict[Pass, float] = {}
    clock = dict.fromkeys(passes, 0.0)
    place = dict.fromkeys(passes, 0)
    left = sum(map(len, passes.values()))
    while left:
        before = left
        for rank, mine in passes.items():
            while place[rank] < len(mine):
                one = mine[place[rank]]
                ready = _ready(one, stages, done, hop_seconds)
                if ready is None:
                    break
                clock[rank] = done[one] = max(clock[rank], ready) + seconds(one.stage, one.forward)
                place[rank] += 1
                left -= 1
        if left == before:
            raise ValueError("no process of the pipeline can go on: each waits for another")
    busy = tuple(sum(seconds(one.stage, one.forward) for one in mine) for mine in passes.values())
    return Played(max(clock.values()), busy, tuple(map(_most_held, passes.values())))


def _ready(one: Pass, stages: int, done: Mapping[Pass, float], hop_seconds: float) -> float | None:
    """Return when a pass can begin, or None while something it needs is not made."""
    if one.forward:
        needed = one._replace(stage=one.stage - 1) if one.stage else None
    elif one.stage < stages - 1:
        needed = one._replace(stage=one.stage + 1)
    else:
        needed = one._replace(forward=True)
    if needed is None:
        return 0.0
    if needed not in done:
        return None
    return done[needed] + (hop_seconds if needed.stage != one.stage else 0.0)


def _most_held(mine: list[Pass]) -> int:
    held = most = 0
    for one in mine:
        held += 1 if one.forward else -1
        most = max(most, held)
    return most


def closed_form_bubble(layout: Layout, microbatches: int) -> float:
    """Return the share of a step that processes wait where all stages take as long: (p - 1) / (v m + p - 1).

    1F1B and GPipe reach it; interleaving does where the microbatches are a multiple of the pipeline's processes.
    """
    work = layout.virtual * microbatches
    return (layout.pipeline - 1) / (work + layout.pipeline - 1)
