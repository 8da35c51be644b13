"""The parts at work: microbatches through pipeline stages, forward and back, or forward alone.

1F1B where stages are plain, interleaved 1F1B where a process has several, GPipe for batches of fewer microbatches than
processes, which 1F1B cannot start. A single process is a pipeline of one stage: there is no second path.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import loss_parallel
from torch.nn import functional

from trainer import mesh as meshes
from trainer.config import Config, Layout
from trainer.init import initialise
from trainer.parallel import DTYPES, Part, parts

Schedule = Schedule1F1B | ScheduleGPipe | ScheduleInterleaved1F1B


class Engine:
    """A model on all processes: computes gradients of a batch, or the losses of rows without any.

    Attributes:
        parts: what this process holds, initialised from the recipe's seed.
        first, last: whether tokens go in, and losses come out, on this process.
    """

    def __init__(self, config: Config, layout: Layout, mesh: DeviceMesh, device: torch.device) -> None:
        """Build and fill the parts of this process. All processes must do so together."""
        self.config, self.layout, self.mesh, self.device = config, layout, mesh, device
        self.parts = parts(config, layout, mesh)
        for part in self.parts:
            part.gpt.to_empty(device=device)
            initialise(part.gpt, config.model, config.seed)
        self.first, self.last = self.parts[0].gpt.first, self.parts[-1].gpt.last
        self._stages = [self._stage(part) for part in self.parts]
        self._schedules: dict[int, Schedule] = {}
        self._losses: list[Tensor] = []
        self._likeliest: list[Tensor] | None = None

    def train(self, tokens: Tensor) -> Tensor:
        """Leave the gradient of the mean loss in the parameters; the old one must be gone.

        Args:
            tokens: int64[n, sequence_tokens + 1], this data-parallel process's rows of the batch, a multiple of
                `batch.micro` and the same number on all; only first and last stages look at them.

        Returns:
            The loss of each row, float[n], where `last`; empty elsewhere.
        """
        self._run(tokens, forward_only=False)
        return torch.cat(self._losses).mean(1) if self.last else torch.empty(0)

    @torch.no_grad()
    def score(self, tokens: Tensor, likeliest: bool = False) -> tuple[Tensor, Tensor | None]:
        """Return the loss of each token of any number of rows, on every process, and leave no gradient.

        Args:
            tokens: int64[n, sequence_tokens + 1], the same on all processes.
            likeliest: whether to compare each token with the one that the model finds likeliest.

        Returns:
            On the CPU: negative log-likelihoods, float[n, sequence_tokens], of all tokens but the first of each row;
            and whether each was the likeliest of all, bool of that shape, or None.
        """
        found = [self._score_slice(rows, likeliest) for rows in self._slices(tokens)]
        losses = torch.cat([losses for losses, _ in found])[: len(tokens)]
        return losses, torch.cat([hits for _, hits in found])[: len(tokens)].bool() if likeliest else None

    def _score_slice(self, rows: Tensor, likeliest: bool) -> tuple[Tensor, Tensor]:
        """Score as many rows as go through the pipeline at once, divided over the data-parallel processes."""
        mine = meshes.coordinate(self.mesh, "data")
        divided = rows.view(-1, self.layout.data, self.config.batch.micro, rows.shape[1])  # as in `data.share`
        self._likeliest = [] if likeliest else None
        self._run(divided[:, mine].flatten(0, 1), forward_only=True)
        dtype = DTYPES[self.config.training.reduction]
        both = torch.zeros(2, *divided[..., 1:].shape, dtype=dtype, device=self.device)
        if self.last and meshes.coordinate(self.mesh, "tensor") == 0:
            both[0, :, mine] = torch.stack(self._losses)
            if self._likeliest:
                both[1, :, mine] = torch.stack(self._likeliest).to(dtype)
        dist.all_reduce(both)
        losses, hits = both.flatten(1, 3).cpu()
        self._likeliest = None
        return losses, hits

    def _slices(self, tokens: Tensor) -> Iterator[Tensor]:
        """Cut rows into slices of one size, the last filled up with its own first row."""
        pieces = self.config.microbatches(self.config.batch.sequences, self.layout.data)
        pieces = -(-pieces // self.layout.pipeline) * self.layout.pipeline  # which any schedule takes
        size = pieces * self.layout.data * self.config.batch.micro
        for start in range(0, len(tokens), size):
            rows = tokens[start : start + size]
            yield torch.cat([rows, rows[:1].expand(size - len(rows), -1)])

    def _run(self, tokens: Tensor, forward_only: bool) -> None:
        schedule = self._schedule(len(tokens) // self.config.batch.micro)
        tokens = tokens.to(self.device)
        inputs = (tokens[:, :-1].contiguous(),) if self.first else ()
        labels = tokens[:, 1:].contiguous() if self.last else None
        self._losses = []
        parallel_loss: AbstractContextManager[None] = loss_parallel() if self.layout.tensor > 1 else nullcontext()
        with parallel_loss:
            (schedule.eval if forward_only else schedule.step)(*inputs, target=labels, return_outputs=False)

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of a microbatch, and put the losses of its tokens on record."""
        if self.layout.tensor > 1:
            logits = DTensor.from_local(logits, self.mesh["tensor"], [Shard(-1)], run_check=False)
        losses = token_losses(logits, labels)
        self._losses.append(losses.detach())
        if self._likeliest is not None:
            whole = logits.full_tensor() if isinstance(logits, DTensor) else logits
            self._likeliest.append(whole.argmax(-1) == labels)
        return losses.mean()

    def _stage(self, part: Part) -> PipelineStage:
        """Wrap a part. Shapes are told, so that the pipeline need not try them out with a first microbatch."""
        model, micro = self.config.model, self.config.batch.micro
        dtype, tokens = DTYPES[self.config.training.precision], model.sequence_tokens
        with torch.device("meta"):
            whole = torch.empty(micro, tokens, dtype=torch.int64)
            passed_on = torch.empty(micro, tokens // self.layout.tensor, model.hidden, dtype=dtype)
            logits = torch.empty(micro, tokens, model.padded_vocabulary // self.layout.tensor, dtype=dtype)
        return PipelineStage(
            part.gpt,
            part.stage,
            self.layout.stages,
            self.device,
            input_args=whole if part.gpt.first else passed_on.requires_grad_(),
            output_args=(logits if part.gpt.last else passed_on).requires_grad_(),
            group=self.mesh.get_group("pipeline"),
        )

    def _schedule(self, microbatches: int) -> Schedule:
        """Return the schedule for a number of microbatches; a batch that grows has several over the same stages."""
        if microbatches not in self._schedules:
            self._schedules[microbatches] = schedule(self._stages, self.layout, microbatches, self._loss)
        return self._schedules[microbatches]


def schedule(stages: list[PipelineStage], layout: Layout, microbatches: int, loss: object) -> Schedule:
    """Return who computes what when, for the stages of one process."""
    if layout.virtual > 1:
        return ScheduleInterleaved1F1B(stages, microbatches, loss_fn=loss)  # type: ignore[arg-type]
    kind = Schedule1F1B if microbatches >= layout.pipeline else ScheduleGPipe
    return kind(stages[0], microbatches, loss_fn=loss)  # type: ignore[arg-type]


def token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the negative log-likelihood of each label, in float32 at least.

    Args:
        logits: [batch, tokens, padded_vocabulary]; a DTensor cut along the vocabulary under `loss_parallel`.
        labels: int64[batch, tokens].
    """
    wide = logits.float() if logits.dtype == torch.bfloat16 else logits
    losses = functional.cross_entropy(wide.flatten(0, 1), labels.flatten(), reduction="none")
    return (losses.to_local() if isinstance(losses, DTensor) else losses).view_as(labels)
