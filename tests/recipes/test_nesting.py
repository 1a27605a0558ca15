"""Datasets nested in any way share one speaker table, or are refused when they are made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import edit_manifest, make_rows, write_store

from tts_prep.errors import ConfigurationError, CorruptStoreError
from tts_prep.format.hdf5.columns import CategoryColumn
from tts_prep.loader import (
    CacheDataset,
    ChainDataset,
    DataLoader,
    DatasetMixin,
    FilterDataset,
    SliceDataset,
    SubsetDataset,
    TransformDataset,
    Utterance,
    UtteranceDataset,
    collate,
)
from tts_prep.recipes import DictDataset, TupleDataset

SPEAKERS = ("anna ben", "ben cleo", "cleo dora anna")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[UtteranceDataset]:
    """Return three stores whose speaker tables overlap; an id ends with the name of its speaker."""
    folder = tmp_path_factory.mktemp("stores")
    datasets = []
    for number, names in enumerate(SPEAKERS):
        rows = make_rows(range(4, 10))
        for i, row in enumerate(rows):
            row.speaker = names.split()[i % len(names.split())]
            row.id = f"{number}-{i}-{row.speaker}"
        datasets.append(UtteranceDataset(write_store(folder / str(number), rows, n_shards=1)))
    return datasets


def code_and_id(utterance: Any) -> Any:
    """Return what a training script may make of an utterance: its code is a number that nothing can correct later."""
    if isinstance(utterance, Utterance):
        return {"code": utterance.speaker_code, "id": utterance.id}
    return utterance


def with_other_text(utterance: Any) -> Any:
    return replace(utterance, text="other") if isinstance(utterance, Utterance) else utterance


def wrapped(draw: Any, dataset: Any) -> Any:
    n = len(dataset)
    kind = draw(st.sampled_from(["subset", "slice", "filter", "cache", "transform", "code", "tuple", "dict", "select"]))
    if kind == "subset":
        return SubsetDataset(dataset, draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=6)))
    if kind == "slice":
        return SliceDataset(dataset, draw(st.integers(0, n - 1)), None)
    if kind == "filter":
        kept = draw(st.integers(0, n - 1))
        places = iter(range(n))
        return FilterDataset(dataset, lambda _: next(places) >= kept)
    if kind == "cache":
        cached = CacheDataset(dataset)
        cached[0]
        return cached
    if kind in ("transform", "code"):
        return TransformDataset(dataset, with_other_text if kind == "transform" else code_and_id)
    if kind == "tuple":
        return TupleDataset(dataset, range(n), dataset)
    if kind == "dict":
        return DictDataset(x=dataset, number=range(n))
    return dataset[: draw(st.integers(1, n))]


def build(data: Any, stores: list[UtteranceDataset], depth: int) -> Any:
    dataset: Any
    if depth and data.draw(st.booleans()):
        parts = [build(data, stores, depth - 1) for _ in range(data.draw(st.integers(1, 3)))]
        dataset = ChainDataset(*parts, speakers=data.draw(st.sampled_from(["name", "dataset"])))
    else:
        dataset = data.draw(st.sampled_from(stores))
    for _ in range(data.draw(st.integers(0, 3))):
        dataset = wrapped(data.draw, dataset)
    return dataset


def found(example: Any) -> Iterator[tuple[int, str, tuple[str, ...] | None]]:
    """Yield the code, the id and the table, if known, of every utterance in an example."""
    if isinstance(example, Utterance):
        assert example.store.speakers[example.speaker_code] == example.speaker
        yield example.speaker_code, example.id, example.store.speakers
    elif isinstance(example, dict) and set(example) == {"code", "id"}:
        yield example["code"], example["id"], None
    elif isinstance(example, dict | tuple | list):
        for part in example.values() if isinstance(example, dict) else example:
            yield from found(part)


@given(data=st.data())
def test_any_nesting_in_a_chain_shares_the_table_of_the_chain(data: Any, stores: list[UtteranceDataset]) -> None:
    parts = [build(data, stores, 2) for _ in range(data.draw(st.integers(1, 3)))]
    by = data.draw(st.sampled_from(["name", "dataset"]))
    chain = ChainDataset(*parts, speakers=by)
    outer = wrapped(data.draw, chain) if data.draw(st.booleans()) else chain
    singly = [outer[i] for i in range(len(outer))]
    together = list(outer.__getitems__(range(len(outer))))
    for examples in (singly, together):
        for code, uid, table in found(examples):
            assert table is None or table == chain.speakers
            assert chain.speakers[code].split("/")[-1] == uid.split("-")[-1]
    if outer is chain and all(isinstance(example, Utterance) for example in singly):
        batch = collate(chain.__getitems__(range(len(chain))))
        names = [chain.speakers[code].split("/")[-1] for code in batch.speakers]
        assert names == [uid.split("-")[-1] for uid in batch.ids]
    assert [name.split("/")[-1] for name in chain.speaker] == [
        next(found(example))[1].split("-")[-1] for example in (chain[i] for i in range(len(chain)))
    ]


def test_a_transform_in_a_chain_sees_the_codes_of_the_chain(stores: list[UtteranceDataset]) -> None:
    a, b = stores[:2]
    chain = ChainDataset(a, TransformDataset(b, with_other_text))
    assert chain.speakers == ("anna", "ben", "cleo")
    loader = DataLoader(chain, batch_size=2)
    given = [pair for batch in loader for pair in zip(batch.ids, batch.speakers.tolist(), strict=True)]
    assert len(given) == 12
    assert all(uid.endswith(chain.speakers[code]) for uid, code in given)
    # The given datasets keep their own tables.
    assert b.speakers == ("ben", "cleo")
    assert b[0].speaker_code == 0


def test_statistics_by_speaker_follow_the_table_of_the_chain(stores: list[UtteranceDataset]) -> None:
    chain = ChainDataset(*stores)
    last = chain.datasets[2]
    own = stores[2].selection_statistics("mel")
    shared = last.selection_statistics("mel")
    for code, name in enumerate(chain.speakers):
        if name in stores[2].speakers:
            place = stores[2].speakers.index(name)
            np.testing.assert_array_equal(shared.speaker_mean[code], own.speaker_mean[place])
            np.testing.assert_array_equal(
                last.metadata.speaker_mel_mean[code], stores[2].metadata.speaker_mel_mean[place]
            )
        else:
            assert shared.speaker_count[code] == 0


class _OwnCodes(DatasetMixin):
    """A dataset of another package, which knows its store, and makes numbers of its speakers."""

    def __init__(self, dataset: UtteranceDataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def get_example(self, i: int) -> Any:
        return self._dataset[i]

    def stores(self) -> Any:
        return [self._dataset.metadata]


class _Unknown(_OwnCodes):
    """A dataset that does not say of which stores it is."""

    def stores(self) -> Any:
        return []


def test_a_dataset_that_keeps_its_own_table_is_refused(stores: list[UtteranceDataset]) -> None:
    with pytest.raises(ConfigurationError, match="dataset 1, a _OwnCodes, makes examples with the speaker table of"):
        ChainDataset(stores[0], _OwnCodes(stores[1]))
    assert len(ChainDataset(stores[0], _OwnCodes(stores[0]))) == 12
    chain = ChainDataset(stores[0], _Unknown(stores[1]))
    with pytest.raises(ConfigurationError, match="gave utterance '1-0-ben' with another speaker table"):
        chain[6]


@pytest.mark.parametrize("kind", ["transform", "tuple", "dict", "cache", "subset", "filter"])
@pytest.mark.parametrize("what", ["preset", "vocabulary"])
def test_presets_and_vocabularies_that_differ_are_refused_below_any_wrapper(
    kind: str, what: str, stores: list[UtteranceDataset], tmp_path: Path
) -> None:
    path = write_store(tmp_path / "other", make_rows([5, 6]), n_shards=1)

    def change(manifest: Any) -> None:
        if what == "preset":
            manifest["arrays"]["mel"]["hop_length"] = 300
        else:
            manifest["vocabulary"]["symbols"][1] = "x"

    edit_manifest(path, change)
    other = UtteranceDataset(path)

    def made(dataset: Any) -> Any:
        return {
            "transform": lambda: TransformDataset(dataset, lambda utterance: utterance),
            "tuple": lambda: TupleDataset(range(len(dataset)), dataset),
            "dict": lambda: DictDataset(x=dataset),
            "cache": lambda: CacheDataset(dataset),
            "subset": lambda: SubsetDataset(dataset, [0]),
            "filter": lambda: FilterDataset(dataset, bool),
        }[kind]()

    expected = "hop_length is 256 in one and 300" if what == "preset" else "vocabularies of 5 and 5 symbols"
    with pytest.raises(ConfigurationError, match=f"dataset 0 and dataset 1 cannot be mixed: .*{expected}"):
        ChainDataset(made(stores[0]), made(other))


def test_each_place_of_a_tuple_may_have_mels_of_its_own(stores: list[UtteranceDataset], tmp_path: Path) -> None:
    path = write_store(tmp_path / "other", make_rows(range(4, 10)), n_shards=1)
    edit_manifest(path, lambda manifest: manifest["arrays"]["mel"].update(hop_length=300))
    pairs = TupleDataset(stores[0], UtteranceDataset(path))
    chain = ChainDataset(pairs, pairs)
    assert {utterance.store.hop_length for utterance in chain[0]} == {256, 300}
    with pytest.raises(ConfigurationError, match="hop_length is 300 in one and 256 in the other"):
        ChainDataset(pairs, TupleDataset(stores[1], stores[2]))


def test_a_batch_of_a_chain_is_the_batches_of_its_stores(stores: list[UtteranceDataset]) -> None:
    # A chain of chains and of selections in another order: every row is looked up in its own store.
    chain = ChainDataset(ChainDataset(stores[0], stores[1][[4, 1, 3]]), stores[2][::-1])
    rows = [(0, i) for i in range(6)] + [(1, i) for i in (4, 1, 3)] + [(2, i) for i in range(5, -1, -1)]
    order = np.random.default_rng(0).permutation(len(rows)).tolist()
    for batch in (chain.__getitems__(order), SubsetDataset(chain, order).__getitems__(range(len(order)))):
        collated = collate(batch)
        assert len(collated.ids) == len(rows)
        for place, position in enumerate(order):
            number, row = rows[position]
            expected = stores[number][row]
            assert collated.ids[place] == expected.id == batch[place].id
            assert chain.speakers[collated.speakers[place]] == expected.speaker
            assert collated.indices[place] == expected.index
            np.testing.assert_array_equal(collated.mel[place, : len(expected.mel)], expected.mel)
            assert not collated.mel[place, len(expected.mel) :].any()
            np.testing.assert_array_equal(collated.phonemes[place, : len(expected.phonemes)], expected.phonemes)


def test_a_chain_of_stores_with_and_without_waveforms_gives_their_mels(tmp_path: Path) -> None:
    rows = [make_rows([7, 3, 9]), make_rows([4, 8])]
    datasets = [UtteranceDataset(write_store(tmp_path / str(i), of, waveform=i == 0)) for i, of in enumerate(rows)]
    assert [dataset.has_waveform for dataset in datasets] == [True, False]
    chain = ChainDataset(*datasets)
    for _ in range(2):  # files are mapped by the first batch
        batch = collate(chain.__getitems__([3, 0, 4, 2]), waveform=False)
        for place, row in enumerate((rows[1][0], rows[0][0], rows[1][1], rows[0][2])):
            np.testing.assert_array_equal(batch.mel[place, : len(row.mel)], row.mel)
            np.testing.assert_array_equal(batch.phonemes[place, : len(row.phonemes)], row.phonemes)
        with pytest.raises(ConfigurationError, match="some stores of a batch have waveforms"):
            collate(chain.__getitems__([3, 0]))


def test_a_chain_gives_the_utterances_of_a_subclass_as_that_class_makes_them(stores: list[UtteranceDataset]) -> None:
    class Reversed(UtteranceDataset):
        def __getitems__(self, positions: Any) -> UtteranceDataset:
            return super().__getitems__([len(self) - 1 - position for position in positions])

    (store, reverse) = (kind(stores[0].path) for kind in (UtteranceDataset, Reversed))
    batch = collate(ChainDataset(store, reverse).__getitems__([1, 7]))
    assert batch.ids == [store[1].id, store[4].id]


@pytest.mark.parametrize("is_chain", [False, True])
@pytest.mark.parametrize(
    ("column", "value", "match"),
    [
        ("shard", 7, "refers to shard 7"),
        ("mel_start", 10**6, "rows, the index says"),
        ("mel_start", -1, "rows, the index says"),
        ("speaker", 9, "category code 9"),
    ],
)
def test_a_row_that_contradicts_its_shard_is_an_error_of_its_store(
    tmp_path: Path, is_chain: bool, column: str, value: int, match: str
) -> None:
    datasets = [UtteranceDataset(write_store(tmp_path / name, make_rows(range(4, 10)), n_shards=1)) for name in "ab"]
    for i in range(6):
        collate(datasets[1][[i]])  # The files are mapped.
    store = datasets[1]._store
    stored: Any = store.column(column)
    values = np.array(stored.codes if column == "speaker" else stored)
    values[3] = value
    store._columns[column] = CategoryColumn(values, stored.table) if column == "speaker" else values
    store._row_table = None
    store._readers.clear()
    dataset: Any = ChainDataset(*datasets) if is_chain else datasets[1]
    with pytest.raises(CorruptStoreError, match=match):
        collate(dataset.__getitems__([len(dataset) - 3]))
