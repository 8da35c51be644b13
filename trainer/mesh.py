"""Processes and devices: the one place that tells a GPU from a CPU, and the order in which processes are laid out.

The mesh is (pipeline, data, tensor), the last axis varying fastest. So tensor-parallel processes, which exchange every
layer's activations several times, are neighbours inside a server; data-parallel ones, which exchange gradients once a
step, come next; pipeline stages, which hand on one activation per microbatch, lie farthest apart.
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from trainer.config import Layout

AXES = ("pipeline", "data", "tensor")

# Dense bfloat16 FLOP/s of one GPU, from NVIDIA's data sheets; utilisation is not given for others.
PEAK_FLOPS = {"A100": 312e12, "H100": 989e12, "H200": 989e12, "B200": 2250e12}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process stands among all, and on which machine."""

    rank: int
    world: int
    local_rank: int
    rendezvous: str = "env://"

    @classmethod
    def from_environment(cls) -> "Place | None":
        """Return the place torchrun gave this process; None where none was given."""
        if "RANK" not in os.environ:
            return None
        rank, world, local_rank = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
        return cls(rank, world, local_rank)


def device_count() -> int:
    """Return the GPUs of this machine."""
    return torch.cuda.device_count()


def device(local_rank: int) -> torch.device:
    """Return what a process computes on: its GPU where the machine has one for it, else the CPU."""
    return torch.device("cuda", local_rank) if local_rank < device_count() else torch.device("cpu")


def peak_flops(on: torch.device) -> float | None:
    """Return the dense bfloat16 FLOP/s of a device, None if not known."""
    name = torch.cuda.get_device_name(on) if on.type == "cuda" else ""
    return next((flops for part, flops in PEAK_FLOPS.items() if part in name), None)


def peak_memory(on: torch.device) -> int | None:
    """Return the most bytes that tensors took on a GPU so far; None on a CPU."""
    return torch.cuda.max_memory_allocated(on) if on.type == "cuda" else None


@contextmanager
def processes(place: Place) -> Iterator[torch.device]:
    """Join the group of all processes, give this one its device, and leave the group at the end."""
    mine = device(place.local_rank)
    if mine.type == "cuda":
        torch.cuda.set_device(mine)
    # A GPU's group carries CPU tensors too: checkpoints are written from copies in main memory.
    backend = "cpu:gloo,cuda:nccl" if mine.type == "cuda" else "gloo"
    # PyTorch warns on every rank of what is meant here: whole tensors gathered for a test, stages without gradients.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"torch\.")
    dist.init_process_group(backend, init_method=place.rendezvous, rank=place.rank, world_size=place.world)
    try:
        yield mine
    finally:
        dist.destroy_process_group()


def build(layout: Layout, device_type: str) -> DeviceMesh:
    """Return the mesh of all processes, with one axis for each way to divide the work."""
    shape = (layout.pipeline, layout.data, layout.tensor)
    return init_device_mesh(device_type, shape, mesh_dim_names=AXES)


def coordinate(mesh: DeviceMesh, axis: str) -> int:
    """Return this process's number along an axis."""
    return mesh.get_local_rank(axis)
