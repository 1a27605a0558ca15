"""How objects of the loader are printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stores import write_named_stores

from tts_prep import loader


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_named_stores(tmp_path_factory.mktemp("printed"))


def printed_things(folder: Path) -> Iterator[Any]:
    dataset = loader.UtteranceDataset(folder / "store")
    other = loader.UtteranceDataset(folder / "other")
    chain = loader.ChainDataset(dataset, other)
    sampler = loader.LengthBucketBatchSampler(dataset.n_frames, max_frames=200, n_shapes=3, world_size=2)
    yield from (dataset, dataset[0], dataset[0].arrays, dataset.metadata, dataset.columns, dataset.id, dataset.speaker)
    yield from (dataset.selection_statistics("mel"), chain, chain.speaker, chain[1:3], *chain.__getitems__([1, 9]))
    yield from (sampler, sampler.plan(0), sampler.shapes[0], loader.Budget("n_frames", 3))
    yield from (loader.RandomSampler(dataset), loader.BatchSampler(range(5), 2), loader.MixingSampler([0, 1]))
    yield from (loader.DataLoader(dataset), loader.SegmentCollator(3, 2))
    yield from (loader.Collator(shapes=sampler.shapes), loader.Collator(), loader.collate(dataset))
    yield from (loader.MelNormalizer.of(dataset.metadata, "speaker"), loader.SegmentCollator(3)(dataset))
    yield from (
        loader.ArrayNormalizer(np.ones(3, np.float32), np.ones(3, np.float32), by_speaker=False, keep_zeros=True),
    )


@pytest.mark.whole
def test_everything_public_prints_as_one_short_line(folder: Path) -> None:
    for thing in printed_things(folder):
        text = repr(thing)
        assert len(text) <= 100, text
        assert "\n" not in text
        assert "object at 0x" not in text
        assert type(thing).__name__ in text


def test_a_column_of_categories_prints_its_first_categories(folder: Path) -> None:
    dataset = loader.UtteranceDataset(folder / "store")
    assert repr(dataset.speaker) == "<CategoryValues: 8 of {'anna', 'ben'}>"
    many = loader.CategoryValues(np.zeros(2, np.int32), [f"speaker {i}" for i in range(9)])
    assert repr(many) == "<CategoryValues: 2 of {'speaker 0', 'speaker 1', 'speaker 2', …}>"
