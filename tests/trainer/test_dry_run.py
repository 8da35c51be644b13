"""What a recipe's numbers say of a process is what the model, as it is built for training, has and computes."""

import pytest

pytest.importorskip("torch")

from tests.trainer.tiny import tables
from trainer.arithmetic import parameters, rank_flops, rank_parameters, rank_stages, stage_weights
from trainer.config import parse_config
from trainer.dry_run import count
from trainer.model import GPT, stage_layers

CONFIGURATIONS = {
    "one process": (1, {"model__tied": False}),
    "2 x 2 x 2": (8, {"parallel": {"tensor": 2, "pipeline": 2}, "training__recompute": "full"}),
    "tensor 4, data 2": (8, {"parallel": {"tensor": 4}, "training__precision": "bfloat16", "batch__micro": 2}),
    "uneven shares": (6, {"parallel": {"pipeline": 2}, "batch__sequences": 12, "training__recompute": "selective"}),
    "two virtual stages": (
        4,
        {"parallel": {"tensor": 2, "pipeline": 2, "virtual": 2}, "model__tied": False, "training__recompute": "full"},
    ),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_parameters_operations_and_bytes_are_those_of_the_built_model(name):
    world, changes = CONFIGURATIONS[name]
    config = parse_config(tables(**changes))
    model, layout = config.model, config.layout(world)
    for one in count(config, layout, range(layout.pipeline)):
        mine, whole = rank_parameters(model, layout, one.rank, 0), rank_parameters(model, layout, one.rank)
        assert (one.parameters_kept, one.parameters) == (mine, whole)
        flops = rank_flops(model, layout, one.rank, config.training.recompute)
        assert one.flops == config.batch.micro * flops
        wide = 2 if config.training.precision == "bfloat16" else 4
        assert one.copy_bytes == wide * whole
        assert one.share_bytes == one.gradient_bytes == 4 * mine
        assert one.moment_bytes == 8 * mine


def test_recomputing_blocks_keeps_their_inputs_alone():
    config = parse_config(tables(parallel={"tensor": 2, "pipeline": 4}, training__recompute="full"))
    layout = config.layout(8)
    (one,) = count(config, layout, [1])
    blocks = len(stage_layers(config.model.layers, 1, layout.stages))
    assert one.activation_bytes == blocks * 4 * config.model.sequence_tokens // 2 * config.model.hidden
    assert one.block_bytes > 8 * one.activation_bytes


def test_shares_of_data_parallel_processes_add_up_to_the_whole():
    config = parse_config(tables(parallel={"tensor": 2}, batch__sequences=12))
    layout = config.layout(6)
    shares = [rank_parameters(config.model, layout, 0, rank) for rank in range(layout.data)]
    assert sum(shares) == rank_parameters(config.model, layout, 0)
    assert max(shares) == shares[0]


@pytest.mark.parametrize("tied", [True, False])
def test_the_weights_listed_are_the_models(tied):
    import torch

    model = parse_config(tables(model__tied=tied)).model
    with torch.device("meta"):
        built = {name: tuple(parameter.shape) for name, parameter in GPT(model).named_parameters()}
    assert {weight.name: weight.shape for weight in stage_weights(model, 0, 1)} == built
    assert parameters(model) == sum(torch.Size(shape).numel() for shape in built.values())


def test_virtual_stages_of_a_process_lie_a_pipeline_apart():
    layout = parse_config(tables(parallel={"pipeline": 2, "virtual": 2})).layout(2)
    assert list(rank_stages(layout, 1)) == [1, 3]
