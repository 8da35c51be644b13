"""The network is cut as the table says, at the paper's size too, by the code that trains."""

from fnmatch import fnmatch
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

from tests.trainer import tiny  # noqa: E402
from trainer import mesh  # noqa: E402
from trainer.config import load_config, parse_config  # noqa: E402
from trainer.model import GPT  # noqa: E402
from trainer.parallel import parts, tensor_table  # noqa: E402
from trainer.pipeline import schedule  # noqa: E402

PAPER = load_config(Path(__file__).parents[2] / "recipes" / "train" / "mt_nlg_530b.toml")


@pytest.fixture
def parts_of():
    """A function that returns the parts of one process among many, none of which exists."""

    def build(config, world, rank):
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
        layout = config.layout(world)
        return parts(config, layout, mesh.build(layout, "cpu"))

    yield build
    dist.destroy_process_group()


def test_the_table_names_every_module_that_has_parameters_and_no_other():
    gpt = GPT(parse_config(tiny.tables()).model)
    owners = {name.rpartition(".")[0] for name, _ in gpt.named_parameters(remove_duplicate=False)}
    for owner in owners:
        assert sum(fnmatch(owner, pattern) for pattern in tensor_table()) == 1, owner
    for pattern in tensor_table():
        assert any(fnmatch(owner, pattern) for owner in owners), pattern


@pytest.mark.parametrize(("stage", "billions"), [(0, 16.19), (17, 15.10), (34, 16.15)])
def test_a_process_of_the_papers_run_holds_its_share(parts_of, stage, billions):
    (part,) = parts_of(PAPER, 2240, stage * 64 + 9)
    assert part.stage == stage
    assert list(part.gpt.blocks) == [str(3 * stage + layer) for layer in range(3)]
    whole = sum(parameter.numel() for parameter in part.gpt.parameters())
    held = sum(parameter.to_local().numel() for parameter in part.gpt.parameters())
    assert round(whole / 1e9, 2) == billions
    assert held == pytest.approx(whole / 64, rel=1e-3)


def test_virtual_stages_are_dealt_out_in_turn(parts_of):
    config = parse_config(tiny.tables(parallel={"pipeline": 2, "virtual": 2}))
    assert [(part.stage, list(part.gpt.blocks)) for part in parts_of(config, 2, 1)] == [(1, ["1"]), (3, ["3"])]


def test_a_tied_model_stays_tied_when_it_is_cut(parts_of):
    (part,) = parts_of(parse_config(tiny.tables(parallel__tensor=2)), 4, 0)
    assert part.gpt.head.weight is part.gpt.token_embedding.weight


@pytest.mark.parametrize(
    ("pipeline", "virtual", "microbatches", "kind"),
    [(1, 1, 1, "Schedule1F1B"), (4, 1, 4, "Schedule1F1B"), (4, 1, 3, "ScheduleGPipe"), (2, 2, 1, "Interleaved1F1B")],
)
def test_the_schedule_is_1f1b_where_it_can_be(pipeline, virtual, microbatches, kind):
    config = parse_config(tiny.tables(parallel={"pipeline": pipeline, "virtual": virtual}))
    stages = [_Stage(index, config.parallel) for index in range(0, config.parallel.stages, pipeline)]
    made = schedule(stages, config.layout(pipeline), microbatches, None)
    assert type(made).__name__.endswith(kind)


class _Stage:
    """What schedules ask of a stage when they are made."""

    def __init__(self, index, parallel):
        self.stage_index, self.num_stages = index, parallel.stages
        self.group_size, self.group_rank = parallel.pipeline, index % parallel.pipeline
        self.is_first, self.is_last = index == 0, index == parallel.stages - 1
        self.has_backward, self.stage_index_to_group_rank = False, {}


def test_a_gpu_is_chosen_in_one_place(monkeypatch):
    asked = {}
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: asked.update(device=device))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H100 80GB HBM3")
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **others: asked.update(backend=backend, **others))
    monkeypatch.setattr(dist, "destroy_process_group", lambda: None)
    with mesh.processes(mesh.Place(5, 8, 1, "env://")) as device:
        assert device == torch.device("cuda", 1)
        assert mesh.peak_flops(device) == 989e12
    assert asked["device"] == device
    assert asked["backend"] == "cpu:gloo,cuda:nccl"
    assert mesh.device(2) == torch.device("cpu")


def test_no_other_module_asks_for_a_gpu():
    package = Path(mesh.__file__).parent
    for path in package.glob("*.py"):
        assert path.name == "mesh.py" or "cuda" not in path.read_text(), path.name
