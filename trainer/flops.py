"""Arithmetic of a training step in closed form: what the model needs, and what the hardware does with recomputation.

With full recomputation this is the formula of Narayanan et al. 2021 (2104.04473, equation 3), which MT-NLG reports.
"""

from trainer.config import Model


def forward(model: Model) -> tuple[int, int, int]:
    """Return the operations of one sequence's forward pass: of matrices in blocks, of attention's core, of the head.

    An addition and a multiplication count as two; attention counts as if every token saw all.
    """
    tokens, hidden = model.sequence_tokens, model.hidden
    matrices = model.layers * 24 * tokens * hidden**2
    core = model.layers * 4 * tokens**2 * hidden
    return matrices, core, 2 * tokens * hidden * model.padded_vocabulary


def model_flops(model: Model, sequences: int) -> int:
    """Return the operations of a step without recomputation; the backward pass is twice the forward."""
    return 3 * sum(forward(model)) * sequences


def hardware_flops(model: Model, sequences: int, recompute: str) -> int:
    """Return the operations of a step with what is computed twice: nothing, attention's core, or whole blocks."""
    matrices, core, _ = forward(model)
    again = {"none": 0, "selective": core, "full": matrices + core}[recompute]
    return model_flops(model, sequences) + again * sequences
