"""Read stores: datasets, samplers, batches. Nothing but numpy and h5py is loaded by this."""

from tts_prep.loader.collate import Batch, collate
from tts_prep.loader.columns import CategoryValues, Columns, TextValues
from tts_prep.loader.dataloader import DataLoader
from tts_prep.loader.length_buckets import BatchPlan, LengthBucketBatchSampler
from tts_prep.loader.metadata import StoreMetadata
from tts_prep.loader.ood_texts import OutOfDomainText, OutOfDomainTexts
from tts_prep.loader.padding import batch_spec, batch_text_id, batch_wav
from tts_prep.loader.samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler
from tts_prep.loader.utterances import Utterance, UtteranceDataset

__all__ = [
    "Batch",
    "BatchPlan",
    "BatchSampler",
    "CategoryValues",
    "Columns",
    "DataLoader",
    "LengthBucketBatchSampler",
    "OutOfDomainText",
    "OutOfDomainTexts",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StoreMetadata",
    "TextValues",
    "Utterance",
    "UtteranceDataset",
    "batch_spec",
    "batch_text_id",
    "batch_wav",
    "collate",
]
