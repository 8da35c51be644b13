"""The network has the paper's size, and a cut of it is the same network."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.trainer.tiny import tables  # noqa: E402
from trainer.config import load_config, parse_config  # noqa: E402
from trainer.init import initialise  # noqa: E402
from trainer.model import GPT, cut, stage_layers  # noqa: E402

RECIPES = Path(__file__).parents[2] / "recipes" / "train"


def test_the_papers_model_has_529_6_billion_parameters():
    with torch.device("meta"):
        gpt = GPT(load_config(RECIPES / "mt_nlg_530b.toml").model)
    assert round(sum(parameter.numel() for parameter in gpt.parameters()) / 1e9, 1) == 529.6


def test_stages_hold_every_layer_once():
    assert [n for stage in range(3) for n in stage_layers(7, stage, 3)] == list(range(7))


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("tied", [True, False])
def test_the_stages_of_a_model_give_what_the_whole_gives(stages, tied):
    model = parse_config(tables(model__tied=tied)).model
    whole = GPT(model)
    initialise(whole, model, 7)
    x = torch.randint(0, model.vocabulary, (2, model.sequence_tokens))
    expected = whole(x)
    for stage in range(stages):
        part = cut(GPT(model), stage, stages)
        initialise(part, model, 7)
        x = part(x)
    assert torch.equal(x, expected)


def test_a_token_does_not_see_later_ones():
    model = parse_config(tables()).model
    gpt = GPT(model)
    initialise(gpt, model, 7)
    x = torch.zeros(1, model.sequence_tokens, dtype=torch.int64)
    changed = x.clone()
    changed[0, 9] = 5
    before, after = gpt(x), gpt(changed)
    assert torch.equal(before[0, :9], after[0, :9])
    assert not torch.equal(before[0, 9:], after[0, 9:])
