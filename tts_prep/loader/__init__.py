"""Read stores: datasets, samplers, batches. Imports numpy only."""

from tts_prep.loader.alignment import (
    average_by_duration,
    beta_binomial_prior,
    expand_by_duration,
    interpolated_prior,
)
from tts_prep.loader.batch_info import BatchInfo, BatchItems, BatchShape
from tts_prep.loader.batching.batch import Batch, TorchBatch
from tts_prep.loader.batching.collate import Collator, collate
from tts_prep.loader.batching.normalization import ArrayNormalizer, MelNormalizer
from tts_prep.loader.batching.padding import batch_spec, batch_text_id, batch_wav, pad_sequences, pad_spectrograms
from tts_prep.loader.batching.segments import SegmentBatch, SegmentCollator, TorchSegmentBatch
from tts_prep.loader.dataloader import DataCargo, DataIterator, DataLoader
from tts_prep.loader.dataset.chain import ChainDataset
from tts_prep.loader.dataset.columns import CategoryValues, Columns, TextValues
from tts_prep.loader.dataset.composition import (
    CacheDataset,
    DatasetMixin,
    DictDataset,
    FilterDataset,
    SliceDataset,
    SubsetDataset,
    TransformDataset,
    TupleDataset,
    split,
)
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.ood_texts import OutOfDomainText, OutOfDomainTexts
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.samplers.base import Sampler
from tts_prep.loader.samplers.batch_plan import BatchPlan
from tts_prep.loader.samplers.batches import BatchSampler
from tts_prep.loader.samplers.budgets import Budget
from tts_prep.loader.samplers.length_buckets import LengthBucketBatchSampler
from tts_prep.loader.samplers.mixing import MixingSampler, groups_of
from tts_prep.loader.samplers.positions import DistributedSampler, RandomSampler, SequentialSampler
from tts_prep.loader.samplers.similar_length import (
    PartiallyRandomizedSimilarTimeLengthSampler,
    PartialyRandomizedSimilarTimeLengthSampler,
)
from tts_prep.loader.samplers.weighted import SubsetRandomSampler, WeightedRandomSampler

__all__ = [
    "ArrayNormalizer",
    "Batch",
    "BatchInfo",
    "BatchItems",
    "BatchPlan",
    "BatchSampler",
    "BatchShape",
    "Budget",
    "CacheDataset",
    "CategoryValues",
    "ChainDataset",
    "Collator",
    "Columns",
    "DataCargo",
    "DataIterator",
    "DataLoader",
    "DatasetMixin",
    "DictDataset",
    "DistributedSampler",
    "FilterDataset",
    "LengthBucketBatchSampler",
    "MelNormalizer",
    "MixingSampler",
    "OutOfDomainText",
    "OutOfDomainTexts",
    "PartiallyRandomizedSimilarTimeLengthSampler",
    "PartialyRandomizedSimilarTimeLengthSampler",
    "RandomSampler",
    "Sampler",
    "SegmentBatch",
    "SegmentCollator",
    "SequentialSampler",
    "SliceDataset",
    "StoreMetadata",
    "SubsetDataset",
    "SubsetRandomSampler",
    "TextValues",
    "TorchBatch",
    "TorchSegmentBatch",
    "TransformDataset",
    "TupleDataset",
    "Utterance",
    "UtteranceDataset",
    "WeightedRandomSampler",
    "average_by_duration",
    "batch_spec",
    "batch_text_id",
    "batch_wav",
    "beta_binomial_prior",
    "collate",
    "expand_by_duration",
    "groups_of",
    "interpolated_prior",
    "pad_sequences",
    "pad_spectrograms",
    "split",
]
