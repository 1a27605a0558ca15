"""The examples in docstrings, and how objects are printed."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stores import make_rows, write_store

from tts_prep import loader

MOST_USED = {
    *("UtteranceDataset", "UtteranceDataset.filter", "UtteranceDataset.select", "UtteranceDataset.sort"),
    *(
        "UtteranceDataset.split",
        "Utterance",
        "ChainDataset",
        "TransformDataset",
        "TupleDataset",
        "CacheDataset",
        "split",
    ),
    *("DataLoader", "collate", "Collator", "SegmentCollator", "Batch", "MelNormalizer"),
    *("LengthBucketBatchSampler", "Budget", "MixingSampler", "RandomSampler", "BatchSampler"),
    *("average_by_duration", "ArrayNormalizer"),
}
"""What most people touch: each has an example."""


def examples() -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of everything public that has an example."""
    for name in loader.__all__:
        entry = getattr(loader, name)
        members = inspect.getmembers(entry, inspect.isfunction) if inspect.isclass(entry) else []
        for full, thing in [(name, entry), *((f"{name}.{member}", function) for member, function in members)]:
            if ">>>" in (thing.__doc__ or ""):
                yield full, inspect.getdoc(thing) or ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the stores of the examples: eight utterances of two speakers, and four of two others."""
    path = tmp_path_factory.mktemp("examples")
    for name, n_frames, speakers in (("store", range(40, 80, 5), "anna ben"), ("other", [30, 50, 70, 90], "ben cleo")):
        rows = make_rows(list(n_frames))
        for number, row in enumerate(rows):
            row.id, row.speaker = f"utterance-{number}", speakers.split()[number % 2]
        write_store(path / name, rows, n_shards=1, waveform=True)
    return path


@pytest.mark.parametrize(("name", "text"), list(examples()), ids=lambda value: "" if "\n" in value else value)
def test_an_example_gives_what_its_docstring_says(
    name: str, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    printed: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=printed.append)
    assert result.attempted
    assert not result.failed, "".join(printed)


def test_what_most_people_touch_has_an_example() -> None:
    assert {name for name, _ in examples()} >= MOST_USED


def printed_things(folder: Path) -> Iterator[Any]:
    dataset = loader.UtteranceDataset(folder / "store")
    other = loader.UtteranceDataset(folder / "other")
    chain = loader.ChainDataset(dataset, other)
    sampler = loader.LengthBucketBatchSampler(dataset.n_frames, max_frames=200, n_shapes=3, world_size=2)
    yield from (dataset, dataset[0], dataset[0].arrays, dataset.metadata, dataset.columns, dataset.id, dataset.speaker)
    yield from (dataset.selection_statistics("mel"), chain, chain.speaker, chain[1:3], chain.__getitems__([1, 9]))
    yield from (sampler, sampler.plan(0), sampler.shapes[0], loader.Budget("n_frames", 3))
    yield from (loader.RandomSampler(dataset), loader.BatchSampler(range(5), 2), loader.MixingSampler([0, 1]))
    yield from (loader.DataLoader(dataset), loader.DataCargo(dataset), loader.SegmentCollator(3, 2))
    yield from (loader.Collator(shapes=sampler.shapes), loader.Collator(), loader.collate(dataset))
    yield from (loader.MelNormalizer.of(dataset.metadata, "speaker"), loader.SegmentCollator(3)(dataset))
    yield from (
        loader.ArrayNormalizer(np.ones(3, np.float32), np.ones(3, np.float32), by_speaker=False, keep_zeros=True),
    )


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
