"""A user's script, whose types `make check` checks by mypy, and which `test_types.py` runs."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import assert_type

from tts_prep.loader import (
    Batch,
    CacheDataset,
    CategoryValues,
    ChainDataset,
    Collator,
    DataLoader,
    DatasetMixin,
    FilterDataset,
    LengthBucketBatchSampler,
    RandomSampler,
    SegmentBatch,
    SegmentCollator,
    SubsetDataset,
    TextValues,
    TorchBatch,
    TorchSegmentBatch,
    TransformDataset,
    Utterance,
    UtteranceDataset,
    collate,
    split,
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
