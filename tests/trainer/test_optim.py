"""The update: one norm for the whole model, and nothing done on a broken gradient."""

import math

import pytest

torch = pytest.importorskip("torch")

from curation.shards.errors import DataBudgetError  # noqa: E402
from tests.trainer import tiny  # noqa: E402
from trainer import loop, mesh  # noqa: E402
from trainer.checkpoint import Progress  # noqa: E402
from trainer.metrics import Losses  # noqa: E402
from trainer.optim import Adam  # noqa: E402
from trainer.pipeline import Engine  # noqa: E402


@pytest.fixture
def engine(tmp_path):
    """A model of one process with a gradient."""
    config = tiny.twenty_steps(**tiny.precise("float64"))
    with mesh.processes(mesh.Place(0, 1, 10**6, f"file://{tmp_path / 'rendezvous'}")) as device:
        layout = config.layout(1)
        engine = Engine(config, layout, mesh.build(layout, device.type), device)
        engine.train(torch.arange(16 * 17).view(16, 17) % 60)
        yield engine


def values(engine):
    return [parameter.to_local().clone() for parameter in engine.parts[0].gpt.parameters()]


def test_the_norm_is_pytorchs(engine):
    gradients = [parameter.grad.to_local() for parameter in engine.parts[0].gpt.parameters()]
    expected = torch.nn.utils.get_total_norm(gradients).item()
    assert Adam(engine.config, engine).step(0.0).norm == pytest.approx(expected, rel=1e-12)


def test_a_gradient_is_clipped_to_the_norm_of_the_recipe(engine):
    for parameter in engine.parts[0].gpt.parameters():
        parameter.grad.mul_(1000)
    Adam(engine.config, engine).step(0.0)
    gradients = [parameter.grad.to_local() for parameter in engine.parts[0].gpt.parameters()]
    assert torch.nn.utils.get_total_norm(gradients).item() == pytest.approx(engine.config.optimizer.clip, rel=1e-6)


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_changes_nothing(engine, broken):
    adam, before = Adam(engine.config, engine), values(engine)
    engine.parts[0].gpt.final_norm.bias.grad.to_local()[0] = broken
    update = adam.step(1e-3)
    assert update.skipped
    assert all(torch.equal(a, b) for a, b in zip(before, values(engine), strict=True))
    assert not any(moment.to_local().any() for name, moment in adam.state().items() if name.startswith("exp_avg"))


def test_biases_and_norms_do_not_decay(engine):
    for parameter in engine.parts[0].gpt.parameters():
        parameter.grad.zero_()
    before = {name: p.to_local().clone() for name, p in engine.parts[0].gpt.named_parameters()}
    Adam(engine.config, engine).step(0.5)
    for name, parameter in engine.parts[0].gpt.named_parameters():
        shrunk = before[name] * (1 - 0.5 * 0.1) if parameter.dim() == 2 else before[name]
        assert torch.allclose(parameter.to_local(), shrunk, rtol=1e-12), name


def test_scores_are_the_losses_of_tokens_and_leave_no_gradient(engine):
    tokens = torch.randint(0, 60, (5, 17), generator=torch.Generator().manual_seed(1))
    for parameter in engine.parts[0].gpt.parameters():
        parameter.grad = None
    losses, likeliest = engine.score(tokens, likeliest=True)
    logits = engine.parts[0].gpt(tokens[:, :-1])
    expected = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")
    assert torch.allclose(losses, expected, atol=1e-14)
    assert torch.equal(likeliest, logits.argmax(-1) == tokens[:, 1:])
    assert all(parameter.grad is None for parameter in engine.parts[0].gpt.parameters())


def test_too_many_broken_gradients_in_a_row_stop_training():
    config = tiny.twenty_steps()
    losses = Losses(("books",), [math.nan], [16])
    progress = Progress(0, 0, 0, 0, {"books": 0})
    for _ in range(config.optimizer.max_skipped_steps):
        progress = loop._advance(progress, 16, True, losses, config)
    assert (progress.step, progress.updates, progress.trained_tokens) == (10, 0, {"books": 10 * 256})
    assert loop._advance(progress, 16, False, losses, config).skipped == 0
    with pytest.raises(DataBudgetError, match=r"11 steps in a row.*max_skipped_steps = 10"):
        loop._advance(progress, 16, True, losses, config)
