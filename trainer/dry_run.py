"""What one process of any layout would hold and compute, counted on the real code without the machines.

The parts of a process are built as in training, under PyTorch's fake process group, of tensors with a shape and no
memory. One microbatch goes forward and backward through each, and one optimizer step follows, while parameters,
matrix products, kept activations, gradients and moments are counted. Nothing is computed and nothing is sent.
"""

import multiprocessing
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import loss_parallel
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, shape_wrapper

from trainer import mesh as meshes
from trainer.config import Config, Layout
from trainer.model import Block
from trainer.parallel import DTYPES, Part, parts
from trainer.pipeline import token_losses


@dataclass(frozen=True, slots=True)
class Counted:
    """One process of a pipeline rank: the first of its data- and tensor-parallel groups, whose shares are the largest.

    Attributes:
        rank: along the pipeline.
        parameters: numbers of the parameters it computes with.
        parameters_kept: numbers of its data-parallel share of them.
        flops: of matrix products, for one microbatch forward and backward, recomputation included.
        copy_bytes: of the parameters it computes with.
        share_bytes: of its share of the parameters between steps.
        gradient_bytes: of its share of the gradients.
        moment_bytes: of the optimizer's state.
        activation_bytes: kept from forward to backward of one microbatch, of all its stages.
        block_bytes: kept by one block that keeps everything: what is there while one is recomputed.
    """

    rank: int
    parameters: int
    parameters_kept: int
    flops: int
    copy_bytes: int
    share_bytes: int
    gradient_bytes: int
    moment_bytes: int
    activation_bytes: int
    block_bytes: int


def count(config: Config, layout: Layout, ranks: Sequence[int]) -> list[Counted]:
    """Count what processes of these pipeline ranks hold and compute, each in a process of its own.

    A process of its own, since PyTorch's caches of sharding outlive a process group, and a group has one rank.
    """
    context = multiprocessing.get_context("forkserver")  # which has no threads, so that its forks are safe
    context.set_forkserver_preload([__name__])
    with context.Pool(1, maxtasksperchild=1) as pool:
        return pool.starmap(count_rank, [(config, layout, rank) for rank in ranks], chunksize=1)


def count_rank(config: Config, layout: Layout, rank: int) -> Counted:
    """Count what a process of a pipeline rank holds and computes, in this process, which must have no process group."""
    torch.set_num_threads(1)
    with _fake_group(layout, rank), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        mesh = meshes.build(layout, "cpu")
        mine = parts(config, layout, mesh)
        kept = list(_local(p for part in mine for p in part.gpt.parameters()))
        with FakeTensorMode(allow_non_fake_inputs=True):
            for part in mine:
                part.gpt.to_empty(device="cpu")
            passes = [_pass(part, config, layout, mesh["tensor"]) for part in mine]
            shares = [p for part in mine for p in part.gpt.parameters()]
            gradients = [p.grad for p in shares if p.grad is not None]
            moments = _moments(shares)
    return Counted(
        rank=rank,
        parameters=sum(one.parameters for one in passes),
        parameters_kept=sum(tensor.numel() for tensor in kept),
        flops=sum(one.flops for one in passes),
        copy_bytes=sum(one.copy_bytes for one in passes),
        share_bytes=_bytes(kept),
        gradient_bytes=_bytes(_local(gradients)),
        moment_bytes=_bytes(_local(moments)),
        activation_bytes=sum(one.activation_bytes for one in passes),
        block_bytes=max(one.block_bytes for one in passes),
    )


@contextmanager
def _fake_group(layout: Layout, rank: int) -> Iterator[None]:
    first = rank * layout.data * layout.tensor
    dist.init_process_group("fake", store=FakeStore(), rank=first, world_size=layout.world)
    try:
        yield
    finally:
        dist.destroy_process_group()


@dataclass(frozen=True, slots=True)
class _Pass:
    parameters: int
    copy_bytes: int
    flops: int
    activation_bytes: int
    block_bytes: int


def _pass(part: Part, config: Config, layout: Layout, tensor: DeviceMesh) -> _Pass:
    """Send one microbatch through a part, forward and backward."""
    _once(
        part, config, layout, tensor
    )  # the first time, PyTorch finds out shapes by running operators on whole tensors
    for module in (part.gpt, *part.gpt.blocks.values()):
        module.unshard()  # type: ignore[operator]
    whole = list(_local(part.gpt.parameters()))
    kept, by_block = _Kept(whole), _Kept(whole)
    with by_block:
        Block.forward(next(iter(part.gpt.blocks.values())), _hidden(config, layout))  # type: ignore[arg-type]
    with _Products() as products, kept:
        _once(part, config, layout, tensor)
    return _Pass(sum(each.numel() for each in whole), _bytes(whole), products.flops, kept.bytes, by_block.bytes)


def _once(part: Part, config: Config, layout: Layout, tensor: DeviceMesh) -> None:
    rows, tokens = config.batch.micro, config.model.sequence_tokens
    numbers = torch.empty(rows, tokens, dtype=torch.int64)
    out = part.gpt(numbers if part.gpt.first else _hidden(config, layout))
    if not part.gpt.last:
        out.backward(torch.empty_like(out))
    elif layout.tensor == 1:
        token_losses(out, numbers).mean().backward()  # type: ignore[no-untyped-call]
    else:
        with loss_parallel():
            logits = DTensor.from_local(out, tensor, [Shard(-1)], run_check=False)
            token_losses(logits, numbers).mean().backward()  # type: ignore[no-untyped-call]


def _hidden(config: Config, layout: Layout) -> Tensor:
    """Return activations as they pass between blocks, the tokens divided over the tensor-parallel group."""
    shape = (config.batch.micro, config.model.sequence_tokens // layout.tensor, config.model.hidden)
    return torch.empty(shape, dtype=DTYPES[config.training.precision], requires_grad=True)


def _moments(parameters: list[torch.nn.Parameter]) -> list[Tensor]:
    optimizer = torch.optim.AdamW(parameters, foreach=False)
    optimizer.step()
    return [state for states in optimizer.state.values() for name, state in states.items() if name != "step"]


class _Products(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations of the matrix products that this process computes, attention's among them."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flops = 0
        aten = torch.ops.aten
        own = {
            aten._scaled_dot_product_flash_attention_for_cpu: _attention_forward,
            aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
        }
        wrap: Any = shape_wrapper
        self._formulas = {**flop_registry, **{operator: wrap(formula) for operator, formula in own.items()}}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(kind is DTensor for kind in types):
            return NotImplemented  # comes again as operators on local tensors
        out = func(*args, **(kwargs or {}))
        formula = self._formulas.get(func._overloadpacket)
        if formula is not None:
            self.flops += formula(*args, **(kwargs or {}), out_val=out)
        return out


def _attention_forward(query: Any, key: Any, value: Any, *rest: Any, **options: Any) -> int:
    batch, heads, tokens, width = query
    return int(4 * batch * heads * tokens * key[2] * width)


def _attention_backward(gradient: Any, query: Any, key: Any, value: Any, *rest: Any, **options: Any) -> int:
    return 2 * _attention_forward(query, key, value)


class _Kept(torch.autograd.graph.saved_tensors_hooks):
    """Counts the bytes that autograd keeps for the backward pass, parameters left out; each storage once."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self._known = {_storage(tensor) for tensor in parameters}
        self.bytes = 0
        super().__init__(self._note, lambda tensor: tensor)

    def _note(self, tensor: Tensor) -> Tensor:
        (local,) = _local([tensor])
        if _storage(local) not in self._known:
            self._known.add(_storage(local))
            self.bytes += local.untyped_storage().nbytes()
        return tensor


def _storage(tensor: Tensor) -> int:
    number: int = tensor.untyped_storage()._cdata
    return number


def _local(tensors: Iterable[Tensor]) -> Iterator[Tensor]:
    return (tensor.to_local() if isinstance(tensor, DTensor) else tensor for tensor in tensors)


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
