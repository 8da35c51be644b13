"""Training samples are Megatron's, token for token, pair by pair and blended. Needs megatron-core 0.16.1 and torch."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from curation.shards.blend import Blend, BlendPair, megatron_arguments, megatron_splits
from curation.shards.reader import PairReader
from curation.shards.samples import build
from curation.shards.training import BlendedSamples, Order, PairSamples
from curation.shards.writer import PairCounts

WritePair = Callable[..., tuple[bytes, bytes, PairCounts]]
STEP, SEED = 16, 1234
WEIGHTS = {"books": 0.14336, "web": 0.5, "code": 0.05689, "news": 0.29975}


@pytest.fixture(scope="module")
def megatron() -> Iterator[Any]:
    """Megatron's data classes, with the process group that its blends ask for their rank."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("megatron.core.datasets.gpt_dataset")
    from megatron.core.datasets import blended_dataset, blended_megatron_dataset_builder, gpt_dataset, utils

    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield SimpleNamespace(
        GPTDataset=gpt_dataset.GPTDataset,
        Config=gpt_dataset.GPTDatasetConfig,
        Split=utils.Split,
        Blended=blended_dataset.BlendedDataset,
        Builder=blended_megatron_dataset_builder.BlendedMegatronDatasetBuilder,
    )
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def folder(write_pair: WritePair, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One train pair of each source, and a second of one."""
    root = tmp_path_factory.mktemp("pairs")
    rng = np.random.default_rng(5)
    for name, documents in {"books": 40, "web": 700, "web-2": 300, "code": 90, "news": 500}.items():
        texts = [
            rng.integers(0, 50_000, rng.integers(0, 900 if name == "books" else 60)).tolist() for _ in range(documents)
        ]
        data, index, _ = write_pair(texts)
        (root / f"{name}.bin").write_bytes(data)
        (root / f"{name}.idx").write_bytes(index)
    return root


def config(megatron: Any, cache: Path, **more: Any) -> Any:
    tokenizer = SimpleNamespace(eod=50256, pad=-1, vocab_size=50257, unique_identifiers={"class": "stub"})
    flags = {"reset_position_ids": False, "reset_attention_mask": False, "eod_mask_loss": False}
    size = {"random_seed": SEED, "sequence_length": STEP, "path_to_cache": str(cache)}
    return megatron.Config(**size, **flags, tokenizer=tokenizer, create_attention_mask=False, **more)


def theirs(sample: Any) -> list[int]:
    """The tokens of one of Megatron's samples: inputs, and the last label."""
    return [*sample["tokens"].tolist(), int(sample["labels"][-1])]


def edges(size: int) -> list[int]:
    """The first, middle and last 1,000 of so many samples."""
    middle = max(0, size // 2 - 500)
    return sorted(
        {*range(min(1000, size)), *range(middle, min(middle + 1000, size)), *range(max(0, size - 1000), size)}
    )


@pytest.mark.parametrize("epochs", [0.4, 1.0, 1.3, 1.9, 2.05, 5.5])
def test_samples_of_a_pair_are_megatrons(megatron: Any, folder: Path, tmp_path: Path, epochs: float) -> None:
    reader = PairReader(folder / "web")
    wanted = int(epochs * int(reader.lengths.sum()) / STEP)
    made = config(megatron, tmp_path, blend=([str(folder / "web")], None), split="1,0,0")
    low = megatron.GPTDataset.build_low_level_dataset(str(folder / "web"), made)
    ids = np.arange(len(reader), dtype=np.int32)
    dataset = megatron.GPTDataset(low, str(folder / "web"), ids, wanted, megatron.Split.train, made)
    ours = PairSamples(reader, wanted, STEP, SEED, tmp_path / "ours")
    for name, other in (("documents", "document_index"), ("samples", "sample_index"), ("shuffle", "shuffle_index")):
        np.testing.assert_array_equal(getattr(ours.indices, name), getattr(dataset, other))
        assert getattr(ours.indices, name).dtype == getattr(dataset, other).dtype
    assert len(ours) == len(dataset)
    for number in edges(len(ours)):
        assert ours[number].tolist() == theirs(dataset[number])


@pytest.mark.parametrize("seed", range(8))
def test_indices_are_megatrons_for_random_lengths(megatron: Any, seed: int) -> None:
    from megatron.core.datasets import helpers
    from megatron.core.datasets.gpt_dataset import _build_document_index, _build_shuffle_index

    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 300, rng.integers(2, 400)).astype(np.int32)
    step, epochs = int(rng.integers(2, 500)), int(rng.integers(1, 4))
    tokens = int(lengths.sum())
    wanted = max(1, (epochs * tokens - 1) // step)
    state = np.random.RandomState(seed)
    documents = _build_document_index(np.arange(len(lengths)), epochs, state, False)
    rows = helpers.build_sample_idx(lengths, documents, step, epochs, tokens, True, True)
    ours = build(lengths, wanted, step, seed)
    np.testing.assert_array_equal(ours.documents, documents)
    np.testing.assert_array_equal(ours.samples, rows)
    np.testing.assert_array_equal(ours.shuffle, _build_shuffle_index(len(rows) - 1, len(rows) - 1, state))


def blend_of(folder: Path, names: dict[str, float]) -> tuple[BlendPair, ...]:
    return tuple(BlendPair(name=name, source=name, weight=weight) for name, weight in names.items())


def built(megatron: Any, cache: Path, words: list[str], samples: int) -> Any:
    """The train set that Megatron builds of the words of `--train-data-path`."""
    from megatron.core.datasets.utils import get_blend_from_list

    made = config(megatron, cache, blend_per_split=[get_blend_from_list(words), None, None])
    return megatron.Builder(megatron.GPTDataset, [samples, 0, 0], lambda: True, made).build()[0]


def test_blended_samples_are_megatrons_with_one_pair_per_source(megatron: Any, folder: Path, tmp_path: Path) -> None:
    pairs = blend_of(folder, WEIGHTS)
    samples = 12_345
    words = [word for pair in pairs for word in (repr(pair.weight), str(folder / pair.name))]
    dataset = built(megatron, tmp_path / "theirs", words, samples)
    ours = BlendedSamples(pairs, Order(samples, STEP, SEED), folder, tmp_path / "ours")
    assert len(ours) == len(dataset)
    np.testing.assert_array_equal(ours.blend[0], dataset.dataset_index)
    np.testing.assert_array_equal(ours.blend[1], dataset.dataset_sample_index)
    for number in edges(len(ours)):
        assert ours[number].tolist() == theirs(dataset[number])


def test_megatron_gives_each_source_its_share(megatron: Any, folder: Path, tmp_path: Path) -> None:
    """From the file that a user hands to Megatron: within 0.1 % of the weights, with a source of two pairs."""
    tokens = {name: int(PairReader(folder / name).lengths.sum()) for name in ("web", "web-2")}
    split = {name: 0.5 * count / sum(tokens.values()) for name, count in tokens.items()}
    pairs = blend_of(folder, {**{name: WEIGHTS[name] for name in ("books", "code", "news")}, **split})
    blend = Blend(training_tokens=1, sources=(), train=pairs, valid=())
    words = json.loads(json.dumps(megatron_splits(blend, str(folder))))["train"]
    assert megatron_arguments(blend, str(folder)) == f"--train-data-path {' '.join(words)}"
    samples = 60_000
    dataset = built(megatron, tmp_path, words, samples)
    shares = np.bincount(dataset.dataset_index, minlength=len(pairs)) / len(dataset)
    found = {"books": shares[0], "code": shares[1], "news": shares[2], "web": shares[3] + shares[4]}
    assert all(abs(found[source] - weight) < 0.001 * weight for source, weight in WEIGHTS.items())
