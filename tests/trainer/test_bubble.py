"""Schedules played through have the order of PyTorch's own and the bubble of the closed forms."""

from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

import torch
from torch import distributed, nn
from torch.distributed import pipelining
from torch.testing._internal.distributed.fake_pg import FakeStore

from trainer.bubble import Order, Pass, Schedule, closed_form_bubble, order, play, schedule_of
from trainer.config import Layout

CASES: list[tuple[Schedule, int, int, int]] = [
    ("1f1b", 1, 1, 3),
    ("1f1b", 4, 1, 4),
    ("1f1b", 4, 1, 9),
    ("gpipe", 4, 1, 2),
    ("gpipe", 3, 1, 7),
    ("interleaved", 2, 2, 2),
    ("interleaved", 2, 2, 6),
    ("interleaved", 4, 3, 8),
    ("interleaved", 5, 3, 15),
]
UNEVEN: list[tuple[Schedule, int, int, int]] = [("interleaved", 4, 2, 10), ("interleaved", 4, 2, 3)]


def seconds(stage: int, forward: bool) -> float:
    return 1.0 if forward else 2.0


@pytest.fixture
def pipeline(request: pytest.FixtureRequest) -> Iterator[int]:
    distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=request.param)
    yield request.param
    distributed.destroy_process_group()


class Recorder:
    """Stands in for a stage, does nothing, and notes which passes it is asked for."""

    is_first, is_last = False, False

    def __init__(self, rank: int) -> None:
        self.stage_index = rank
        self.passes: list[Pass] = []

    def forward_one_chunk(self, number: int, *inputs: object, **options: object) -> None:
        self.passes.append(Pass(self.stage_index, number, True))

    def backward_one_chunk(self, number: int, **options: object) -> None:
        self.passes.append(Pass(self.stage_index, number, False))

    def perform_reduce_grad(self, scale: int) -> None: ...

    def _no_messages(self, number: int) -> list[object]:
        return []

    get_fwd_recv_ops = get_fwd_send_ops = get_bwd_recv_ops = get_bwd_send_ops = _no_messages


def order_of_pytorch(schedule: Schedule, pipeline: int, virtual: int, microbatches: int) -> Order:
    stages = [
        pipelining.PipelineStage(nn.Linear(1, 1), run * pipeline, pipeline * virtual, torch.device("cpu"))
        for run in range(virtual)
    ]
    if schedule == "interleaved":
        listed = pipelining.ScheduleInterleaved1F1B(stages, microbatches).pipeline_order
        kinds = {"FORWARD": True, "FULL_BACKWARD": False}
        return {
            rank: [
                Pass(action.stage_index, action.microbatch_index, kinds[action.computation_type.name])
                for action in actions
                if action is not None
            ]
            for rank, actions in listed.items()
        }
    kind = pipelining.Schedule1F1B if schedule == "1f1b" else pipelining.ScheduleGPipe
    recorders = {rank: Recorder(rank) for rank in range(pipeline)}
    for recorder in recorders.values():  # the lists these two schedules give of themselves are not what they run
        one = kind(stages[0], microbatches)
        one._stage, one._initialize_stage = recorder, lambda *inputs: None
        one._step_microbatches([()] * microbatches, [{}] * microbatches)
    return {rank: recorder.passes for rank, recorder in recorders.items()}


@pytest.mark.parametrize(("schedule", "pipeline", "virtual", "microbatches"), [*CASES, *UNEVEN], indirect=["pipeline"])
def test_the_order_of_passes_is_pytorchs(schedule, pipeline, virtual, microbatches):
    ours = order(schedule, pipeline, virtual, microbatches)
    assert ours == order_of_pytorch(schedule, pipeline, virtual, microbatches)


@pytest.mark.parametrize(("schedule", "pipeline", "virtual", "microbatches"), CASES)
def test_the_closed_form_is_the_bubble_of_the_schedule_played_through(schedule, pipeline, virtual, microbatches):
    played = play(order(schedule, pipeline, virtual, microbatches), pipeline * virtual, seconds)
    assert played.bubble == pytest.approx(closed_form_bubble(Layout(1, pipeline, 1, virtual), microbatches), abs=1e-12)


def test_an_uneven_last_round_waits_longer_than_the_closed_form_says():
    played = play(order("interleaved", 4, 2, 3), 8, seconds)
    assert played.bubble > closed_form_bubble(Layout(1, 4, 1, 2), 3)


def test_one_forward_one_backward_holds_no_more_microbatches_than_stages_are_left():
    assert play(order("1f1b", 4, 1, 9), 4, seconds).held == (4, 3, 2, 1)
    assert play(order("gpipe", 4, 1, 9), 4, seconds).held == (9, 9, 9, 9)


def test_a_slow_last_stage_sets_the_pace():
    played = play(order("1f1b", 4, 1, 100), 4, lambda stage, forward: 2.0 if stage == 3 else 1.0)
    assert played.seconds == 100 * 2 * 2 + 3 * 2


def test_what_travels_between_stages_takes_its_time():
    assert play(order("1f1b", 2, 1, 1), 2, seconds, hop_seconds=0.5).seconds == 1 + 0.5 + 1 + 2 + 0.5 + 2


def test_an_order_that_cannot_be_kept_is_an_error():
    with pytest.raises(ValueError, match="waits for another"):
        play({0: [Pass(0, 0, False), Pass(0, 0, True)]}, 1, seconds)


@pytest.mark.parametrize(
    ("layout", "microbatches", "schedule"),
    [
        (Layout(1, 4, 1), 3, "gpipe"),
        (Layout(1, 4, 1), 4, "1f1b"),
        (Layout(1, 4, 1, 2), 3, "interleaved"),
    ],
)
def test_few_microbatches_run_as_gpipe(layout, microbatches, schedule):
    assert schedule_of(layout, microbatches) == schedule
