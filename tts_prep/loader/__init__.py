"""Read stores: datasets, samplers, batches. Imports numpy only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tts_prep.public_names import public_names

if TYPE_CHECKING:
    from tts_prep.batches.alignment import average_by_duration as average_by_duration
    from tts_prep.batches.alignment import beta_binomial_prior as beta_binomial_prior
    from tts_prep.batches.alignment import expand_by_duration as expand_by_duration
    from tts_prep.batches.alignment import interpolated_prior as interpolated_prior
    from tts_prep.batches.composition import DatasetMixin as DatasetMixin
    from tts_prep.batches.composition import SubsetDataset as SubsetDataset
    from tts_prep.batches.normalization import ArrayNormalizer as ArrayNormalizer
    from tts_prep.batches.segments import SegmentBatch as SegmentBatch
    from tts_prep.batches.segments import SegmentCollator as SegmentCollator
    from tts_prep.batches.segments import TorchSegmentBatch as TorchSegmentBatch
    from tts_prep.batches.weighted import DistributedSampler as DistributedSampler
    from tts_prep.batches.weighted import MixingSampler as MixingSampler
    from tts_prep.batches.weighted import SubsetRandomSampler as SubsetRandomSampler
    from tts_prep.batches.weighted import WeightedRandomSampler as WeightedRandomSampler
    from tts_prep.batches.weighted import groups_of as groups_of
    from tts_prep.batches.wrappers import CacheDataset as CacheDataset
    from tts_prep.batches.wrappers import ChainDataset as ChainDataset
    from tts_prep.batches.wrappers import FilterDataset as FilterDataset
    from tts_prep.batches.wrappers import SliceDataset as SliceDataset
    from tts_prep.batches.wrappers import TransformDataset as TransformDataset
    from tts_prep.batches.wrappers import split as split
    from tts_prep.loader.batch_info import BatchInfo as BatchInfo
    from tts_prep.loader.batch_info import BatchItems as BatchItems
    from tts_prep.loader.batch_info import BatchShape as BatchShape
    from tts_prep.loader.batching.batch import Batch as Batch
    from tts_prep.loader.batching.batch import TorchBatch as TorchBatch
    from tts_prep.loader.batching.collate import Collator as Collator
    from tts_prep.loader.batching.collate import collate as collate
    from tts_prep.loader.batching.normalization import MelNormalizer as MelNormalizer
    from tts_prep.loader.batching.padding import pad_sequences as pad_sequences
    from tts_prep.loader.batching.padding import pad_spectrograms as pad_spectrograms
    from tts_prep.loader.dataloader import DataIterator as DataIterator
    from tts_prep.loader.dataloader import DataLoader as DataLoader
    from tts_prep.loader.dataset.columns import CategoryValues as CategoryValues
    from tts_prep.loader.dataset.columns import Columns as Columns
    from tts_prep.loader.dataset.columns import TextValues as TextValues
    from tts_prep.loader.dataset.metadata import StoreMetadata as StoreMetadata
    from tts_prep.loader.dataset.utterance import Utterance as Utterance
    from tts_prep.loader.dataset.utterances import UtteranceDataset as UtteranceDataset
    from tts_prep.loader.samplers.base import Sampler as Sampler
    from tts_prep.loader.samplers.batch_plan import BatchPlan as BatchPlan
    from tts_prep.loader.samplers.budgets import Budget as Budget
    from tts_prep.loader.samplers.length_buckets import LengthBucketBatchSampler as LengthBucketBatchSampler
    from tts_prep.loader.samplers.positions import BatchSampler as BatchSampler
    from tts_prep.loader.samplers.positions import RandomSampler as RandomSampler
    from tts_prep.loader.samplers.positions import SequentialSampler as SequentialSampler
    from tts_prep.ood.texts import OutOfDomainText as OutOfDomainText
    from tts_prep.ood.texts import OutOfDomainTexts as OutOfDomainTexts
else:
    __all__, __getattr__, __dir__ = public_names(__name__)
