"""Recipes: datasets and batches as other training systems define them, read from a store.

Every name is loaded on first use. A recipe imports further packages (torch, PyYAML) when it needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tts_prep.public_names import public_names

if TYPE_CHECKING:
    from tts_prep.recipes.bigvgan import BigVGANDataset as BigVGANDataset
    from tts_prep.recipes.bigvgan import bigvgan_filelists as bigvgan_filelists
    from tts_prep.recipes.f5tts import DynamicBatchSampler as DynamicBatchSampler
    from tts_prep.recipes.f5tts import F5TTSDataset as F5TTSDataset
    from tts_prep.recipes.f5tts import collate_f5tts as collate_f5tts
    from tts_prep.recipes.f5tts import load_f5tts_dataset as load_f5tts_dataset
    from tts_prep.recipes.fastspeech2 import FastSpeech2Dataset as FastSpeech2Dataset
    from tts_prep.recipes.fastspeech2 import TTSCollate as TTSCollate
    from tts_prep.recipes.hifigan import HiFiGANDataset as HiFiGANDataset
    from tts_prep.recipes.hifigan import collate_hifigan as collate_hifigan
    from tts_prep.recipes.hifigan import hifigan_filelists as hifigan_filelists
    from tts_prep.recipes.language_model import PromptedTokens as PromptedTokens
    from tts_prep.recipes.language_model import SimilarPrompts as SimilarPrompts
    from tts_prep.recipes.language_model import TokenBatch as TokenBatch
    from tts_prep.recipes.language_model import TokenCollate as TokenCollate
    from tts_prep.recipes.language_model import TokenExample as TokenExample
    from tts_prep.recipes.language_model import speaker_vectors as speaker_vectors
    from tts_prep.recipes.matcha import TextMelBatchCollate as TextMelBatchCollate
    from tts_prep.recipes.matcha import TextMelDataset as TextMelDataset
    from tts_prep.recipes.parakeet import DataCargo as DataCargo
    from tts_prep.recipes.parakeet import DictDataset as DictDataset
    from tts_prep.recipes.parakeet import LJSpeechCollector as LJSpeechCollector
    from tts_prep.recipes.parakeet import (
        PartiallyRandomizedSimilarTimeLengthSampler as PartiallyRandomizedSimilarTimeLengthSampler,
    )
    from tts_prep.recipes.parakeet import (
        PartialyRandomizedSimilarTimeLengthSampler as PartialyRandomizedSimilarTimeLengthSampler,
    )
    from tts_prep.recipes.parakeet import TupleDataset as TupleDataset
    from tts_prep.recipes.parakeet import batch_spec as batch_spec
    from tts_prep.recipes.parakeet import batch_text_id as batch_text_id
    from tts_prep.recipes.parakeet import batch_wav as batch_wav
    from tts_prep.recipes.parakeet import stop_probabilities as stop_probabilities
    from tts_prep.recipes.piper import PiperBatch as PiperBatch
    from tts_prep.recipes.piper import PiperCollate as PiperCollate
    from tts_prep.recipes.piper import PiperDataset as PiperDataset
    from tts_prep.recipes.piper import PiperUtterance as PiperUtterance
    from tts_prep.recipes.speechain import build_iterators as build_iterators
    from tts_prep.recipes.speechain import read_config as read_config
    from tts_prep.recipes.styletts2 import Collater as Collater
    from tts_prep.recipes.styletts2 import FilePathDataset as FilePathDataset
    from tts_prep.recipes.styletts2 import build_dataloader as build_dataloader
    from tts_prep.recipes.vits import DistributedBucketSampler as DistributedBucketSampler
    from tts_prep.recipes.vits import TextAudioCollate as TextAudioCollate
    from tts_prep.recipes.vits import TextAudioLoader as TextAudioLoader
    from tts_prep.recipes.vits import TextAudioSpeakerCollate as TextAudioSpeakerCollate
    from tts_prep.recipes.vits import TextAudioSpeakerLoader as TextAudioSpeakerLoader
    from tts_prep.recipes.vits import rand_slice_segments as rand_slice_segments
    from tts_prep.recipes.vits import slice_segments as slice_segments
    from tts_prep.recipes.vocos import VocosDataset as VocosDataset
    from tts_prep.recipes.wavenet import DataCollector as DataCollector
else:
    __all__, __getattr__, __dir__ = public_names(__name__)
