"""Imported arrays: what identifies the source of an utterance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tts_prep.preprocess.features import imported
from tts_prep.preprocess.features.imported import ImportedArray

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
    monkeypatch.setattr(imported, "file_sha256", lambda path: read.append("the whole file") or "")
    monkeypatch.setattr(imported, "_read", lambda path, key: read.append(key) or TOKENS[key])
    assert all(array.source(uid, "") for uid in TOKENS)
    assert read == list(TOKENS)
