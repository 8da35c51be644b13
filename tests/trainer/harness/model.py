"""The model that both sides score: small, never trained, with weights large enough to prefer some words to others."""

from tests.trainer.tiny import tables
from trainer.config import Config, parse_config
from trainer.init import initialise
from trainer.model import GPT

SEQUENCE_TOKENS = 192


def model() -> tuple[Config, GPT]:
    """Return the same model each time, in float32."""
    config = parse_config(
        tables(
            model__layers=2,
            model__sequence_tokens=SEQUENCE_TOKENS,
            model__vocabulary=50_257,
            model__padded_vocabulary=50_304,
            model__init_std=0.2,
            training__tokens=100_000,
        )
    )
    gpt = GPT(config.model)
    initialise(gpt, config.model, seed=7)
    return config, gpt
