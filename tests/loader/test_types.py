"""What a type checker knows of a user's script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from stores import make_rows, write_store

SCRIPT = """
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import assert_type

from tts_prep.loader import (
    Batch, CacheDataset, CategoryValues, ChainDataset, Collator, DataLoader, DatasetMixin, FilterDataset,
    LengthBucketBatchSampler, RandomSampler, SegmentBatch, SegmentCollator, SubsetDataset, TextValues, TorchBatch,
    TorchSegmentBatch, TransformDataset, Utterance, UtteranceDataset, collate, split,
)

dataset = UtteranceDataset("store")
assert_type(dataset[0], Utterance)
assert_type(dataset[:2], UtteranceDataset)
assert_type(dataset[dataset.n_frames > 3], UtteranceDataset)
assert_type(dataset.n_frames, npt.NDArray[np.int32])
assert_type(dataset.seconds, npt.NDArray[np.float64])
assert_type(dataset.speaker, CategoryValues)
assert_type(dataset.speaker == "p225", npt.NDArray[np.bool_])
assert_type(dataset.id, TextValues)
assert_type(dataset.id[0], str)
assert_type(dataset.text[:2], TextValues)
train, valid = dataset.filter(lambda columns: (columns.seconds > 0) & (columns.speaker != "x")).split(1)
assert_type(train, UtteranceDataset)

lengths = TransformDataset(dataset, lambda utterance: len(utterance.mel))
assert_type(lengths[0], int)
assert_type(lengths[:2], SubsetDataset[int])
chain = ChainDataset(dataset, dataset[:2])
assert_type(chain[0], Utterance)
assert_type(CacheDataset(chain)[0], Utterance)
assert_type(FilterDataset(lengths, lambda n: n > 3)[0], int)
assert_type([utterance.id for utterance in chain], list[str])
first, rest = split(chain, 2)
assert_type(first[0], Utterance)
assert_type(split(dataset, 1), tuple[UtteranceDataset, UtteranceDataset])


class Numbers(DatasetMixin[float]):
    def __len__(self) -> int:
        return 3

    def get_example(self, i: int) -> float:
        return i / 2


class Untyped(DatasetMixin):
    def __len__(self) -> int:
        return 3

    def get_example(self, i: int) -> Any:
        return i


assert_type(Numbers()[1], float)

sampler = LengthBucketBatchSampler(dataset.n_frames, batch_size=2, seed=0)
for batch in DataLoader(dataset, batch_sampler=sampler):
    assert_type(batch, Batch)
    assert_type(batch.mel, npt.NDArray[np.float32])
    assert_type(batch.torch().mel, torch.Tensor)
for tensors in DataLoader(dataset, batch_size=2, collate_fn=Collator(waveform=False), output="torch"):
    assert_type(tensors, TorchBatch)
    assert_type(tensors.mel, torch.Tensor)
    assert_type(tensors.to("cpu").phonemes, torch.Tensor)
    assert_type(tensors.waveform, torch.Tensor | None)
for segments in DataLoader(dataset, sampler=RandomSampler(dataset), collate_fn=SegmentCollator(2)):
    assert_type(segments, SegmentBatch)
for segment_tensors in DataLoader(dataset, collate_fn=SegmentCollator(2), output="torch"):
    assert_type(segment_tensors, TorchSegmentBatch)
    assert_type(segment_tensors.starts, torch.Tensor)
assert_type(collate(dataset[:2]), Batch)
"""


@pytest.mark.whole
def test_a_script_passes_the_strict_type_checker_with_the_types_that_it_asserts(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    pytest.importorskip("torch")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    # The settings, and so the cache, of 'make check', so that torch, numpy and the package are read once. In a process
    # of its own: it needs much memory, and changes limits of the interpreter.
    root = Path(__file__).parents[2]
    settings = [f"--config-file={root / 'pyproject.toml'}", f"--cache-dir={root / '.mypy_cache'}", "--no-error-summary"]
    done = subprocess.run([sys.executable, "-m", "mypy", *settings, script], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.whole
def test_the_same_script_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("typing_extensions")
    write_store(tmp_path / "store", make_rows([4, 5, 6]), n_shards=1, waveform=True)
    monkeypatch.chdir(tmp_path)
    exec(compile(SCRIPT, "script.py", "exec"), {"__name__": "script"})
