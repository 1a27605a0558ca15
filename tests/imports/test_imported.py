"""Imported arrays: what identifies the source of an utterance."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tts_prep.additions.add_arrays import add_features
from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.imports import arrays
from tts_prep.imports.arrays import ImportedArray, make_imported
from tts_prep.loader import UtteranceDataset

TOKENS = {f"S-{number:04d}": np.arange(number + 1) for number in range(4)}


def write(path: Path, arrays: Mapping[str, Any]) -> Path:
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    else:
        with h5py.File(path, "w") as file:
            for name, values in arrays.items():
                file[name] = values
    return path


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_an_utterance_keeps_its_source_when_others_are_added_to_the_file(tmp_path: Path, suffix: str) -> None:
    few = ImportedArray.of("tokens", write(tmp_path / f"few{suffix}", TOKENS))
    more = ImportedArray.of("tokens", write(tmp_path / f"more{suffix}", {**TOKENS, "S-0009": np.arange(9)}))
    other = ImportedArray.of("tokens", write(tmp_path / f"other{suffix}", {**TOKENS, "S-0001": np.arange(3)}))
    assert [few.source(uid, "") for uid in TOKENS] == [more.source(uid, "") for uid in TOKENS]
    differing = [uid for uid in TOKENS if few.source(uid, "") != other.source(uid, "")]
    assert (differing, few.source("S-0009", "")) == (["S-0001"], None)


def test_values_of_another_dtype_or_shape_are_another_source(tmp_path: Path) -> None:
    zeros = [
        np.zeros((2, 2), "int16"),
        np.zeros((4, 1), "int16"),
        np.zeros((2, 2), "uint16"),
        np.zeros((2, 1), "int32"),
    ]
    paths = [write(tmp_path / f"{number}.npz", {"a": values}) for number, values in enumerate(zeros)]
    assert len({ImportedArray.of("zeros", path).source("a", "") for path in paths}) == len(zeros)


def test_the_bytes_of_a_file_of_all_utterances_are_read_once_and_not_once_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = ImportedArray.of("tokens", write(tmp_path / "tokens.npz", TOKENS))
    read: list[str] = []
    monkeypatch.setattr(arrays, "file_sha256", lambda path: read.append("the whole file") or "")
    monkeypatch.setattr(arrays, "_read", lambda path, key: read.append(key) or TOKENS[key])
    assert all(array.source(uid, "") for uid in TOKENS)
    assert read == list(TOKENS)


CODES = {f"S-{number:04d}": np.arange(8 * (5 + number), dtype=np.int16).reshape(8, 5 + number) for number in range(7)}
"""Codes as a neural codec returns them: [codebooks, time]."""


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
@pytest.mark.parametrize(("settings", "rate"), [("axis=1", None), ("75,axis=1", 75.0)])
@pytest.mark.whole
def test_codes_are_read_by_their_second_axis(
    store: Path, tmp_path: Path, suffix: str, settings: str, rate: float | None
) -> None:
    copy = Path(shutil.copytree(store, tmp_path / "copy"))
    array = make_imported(f"codes@own:{settings}={write(tmp_path / f'codes{suffix}', CODES)}")
    add_features(copy, [array])
    dataset = UtteranceDataset(copy, verify=True)
    assert (dataset.arrays["codes"].row_shape, dataset.arrays["codes"].rate) == ((8,), rate)
    for utterance in dataset:
        np.testing.assert_array_equal(utterance.arrays["codes"], CODES[utterance.id].T)


def test_an_array_of_another_axis_is_another_source(tmp_path: Path) -> None:
    path = write(tmp_path / "codes.npz", {"a": np.arange(9).reshape(3, 3)})
    first, second = (ImportedArray.of("codes", path, rows=rows).source("a", "") for rows in (0, 1))
    assert first != second


def test_a_transposed_array_is_refused_with_what_reads_it(store: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "codes.npz", CODES)
    hint = r"found \[8, \d+\]; if the second axis is time, codes@own:axis=1=PATH reads both"
    with pytest.raises(StoreError, match=hint):
        add_features(store, [make_imported(f"codes={path}")])
    frames = {u.id: np.zeros((80, len(u.mel)), np.float32) for u in UtteranceDataset(store)}
    path = write(tmp_path / "frames.npz", frames)
    hint = r"found \[80, (\d+)\]; it is transposed: with --array, states@frame:axis=1=PATH reads it as \[\1, "
    with pytest.raises(StoreError, match=hint):
        add_features(store, [make_imported(f"states@frame={path}")])
    mixed = {name: codes if name == "S-0004" else codes.T for name, codes in CODES.items()}
    with pytest.raises(StoreError, match=r"found \[8, 9\]; it is transposed: .* reads it as \[rows, 8\]"):
        add_features(store, [make_imported(f"codes={write(tmp_path / 'mixed.npz', mixed)}")])


def test_rows_are_not_looked_for_in_arrays_of_one_axis(tmp_path: Path) -> None:
    path = write(tmp_path / "tokens.npz", TOKENS)
    with pytest.raises(ConfigurationError, match=r"array 'tokens': .*: axis=1: expected two axes, found \[1\]"):
        make_imported(f"tokens@own:axis=1={path}")
