"""Read stores: datasets, samplers, batches. Nothing but numpy and h5py is loaded by this."""

from tts_prep.loader.batch_plan import BatchPlan
from tts_prep.loader.budgets import Budget
from tts_prep.loader.collate import Batch, Collator, collate
from tts_prep.loader.columns import CategoryValues, Columns, TextValues
from tts_prep.loader.composition import (
    CacheDataset,
    ChainDataset,
    DatasetMixin,
    DictDataset,
    FilterDataset,
    SliceDataset,
    SubsetDataset,
    TransformDataset,
    TupleDataset,
    split,
)
from tts_prep.loader.dataloader import DataCargo, DataIterator, DataLoader
from tts_prep.loader.distributed import DistributedSampler
from tts_prep.loader.length_buckets import LengthBucketBatchSampler
from tts_prep.loader.metadata import StoreMetadata
from tts_prep.loader.mixing import MixingSampler, groups_of
from tts_prep.loader.normalization import MelNormalizer
from tts_prep.loader.ood_texts import OutOfDomainText, OutOfDomainTexts
from tts_prep.loader.padding import batch_spec, batch_text_id, batch_wav
from tts_prep.loader.samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler
from tts_prep.loader.shapes import BatchShape, ShapedPositions
from tts_prep.loader.similar_length import PartiallyRandomizedSimilarTimeLengthSampler
from tts_prep.loader.utterances import Utterance, UtteranceDataset
from tts_prep.loader.weighted import SubsetRandomSampler, WeightedRandomSampler

__all__ = [
    "Batch",
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
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "ShapedPositions",
    "SliceDataset",
    "StoreMetadata",
    "SubsetDataset",
    "SubsetRandomSampler",
    "TextValues",
    "TransformDataset",
    "TupleDataset",
    "Utterance",
    "UtteranceDataset",
    "WeightedRandomSampler",
    "batch_spec",
    "batch_text_id",
    "batch_wav",
    "collate",
    "groups_of",
    "split",
]
