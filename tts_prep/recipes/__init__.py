"""Recipes: datasets and batches as other training systems define them, read from a store.

Every name is loaded on first use. A recipe imports further packages (torch, PyYAML) when it needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tts_prep.recipes.bigvgan import BigVGANDataset, bigvgan_filelists
    from tts_prep.recipes.f5tts import DynamicBatchSampler, F5TTSDataset, collate_f5tts, load_f5tts_dataset
    from tts_prep.recipes.fastpitch import TTSCollate
    from tts_prep.recipes.fastspeech2 import FastSpeech2Dataset
    from tts_prep.recipes.hifigan import HiFiGANDataset, collate_hifigan, hifigan_filelists
    from tts_prep.recipes.language_model import (
        PromptedTokens,
        TokenBatch,
        TokenCollate,
        TokenExample,
        speaker_vectors,
    )
    from tts_prep.recipes.matcha import TextMelBatchCollate, TextMelDataset
    from tts_prep.recipes.parakeet import LJSpeechCollector, stop_probabilities
    from tts_prep.recipes.piper import PiperBatch, PiperCollate, PiperDataset, PiperUtterance
    from tts_prep.recipes.speechain import build_iterators, read_config
    from tts_prep.recipes.styletts2 import Collater, FilePathDataset, build_dataloader
    from tts_prep.recipes.vits import (
        DistributedBucketSampler,
        TextAudioCollate,
        TextAudioLoader,
        TextAudioSpeakerCollate,
        TextAudioSpeakerLoader,
        rand_slice_segments,
        slice_segments,
    )
    from tts_prep.recipes.vocos import VocosDataset
    from tts_prep.recipes.wavenet import DataCollector

_NAMES = {
    "bigvgan": ("BigVGANDataset", "bigvgan_filelists"),
    "f5tts": ("DynamicBatchSampler", "F5TTSDataset", "collate_f5tts", "load_f5tts_dataset"),
    "fastpitch": ("TTSCollate",),
    "fastspeech2": ("FastSpeech2Dataset",),
    "hifigan": ("HiFiGANDataset", "collate_hifigan", "hifigan_filelists"),
    "language_model": ("PromptedTokens", "TokenBatch", "TokenCollate", "TokenExample", "speaker_vectors"),
    "matcha": ("TextMelBatchCollate", "TextMelDataset"),
    "parakeet": ("LJSpeechCollector", "stop_probabilities"),
    "piper": ("PiperBatch", "PiperCollate", "PiperDataset", "PiperUtterance"),
    "speechain": ("build_iterators", "read_config"),
    "styletts2": ("Collater", "FilePathDataset", "build_dataloader"),
    "vits": (
        *("DistributedBucketSampler", "TextAudioCollate", "TextAudioLoader"),
        *("TextAudioSpeakerCollate", "TextAudioSpeakerLoader", "rand_slice_segments", "slice_segments"),
    ),
    "vocos": ("VocosDataset",),
    "wavenet": ("DataCollector",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "BigVGANDataset",
    "Collater",
    "DataCollector",
    "DistributedBucketSampler",
    "DynamicBatchSampler",
    "F5TTSDataset",
    "FastSpeech2Dataset",
    "FilePathDataset",
    "HiFiGANDataset",
    "LJSpeechCollector",
    "PiperBatch",
    "PiperCollate",
    "PiperDataset",
    "PiperUtterance",
    "PromptedTokens",
    "TTSCollate",
    "TextAudioCollate",
    "TextAudioLoader",
    "TextAudioSpeakerCollate",
    "TextAudioSpeakerLoader",
    "TextMelBatchCollate",
    "TextMelDataset",
    "TokenBatch",
    "TokenCollate",
    "TokenExample",
    "VocosDataset",
    "bigvgan_filelists",
    "build_dataloader",
    "build_iterators",
    "collate_f5tts",
    "collate_hifigan",
    "hifigan_filelists",
    "load_f5tts_dataset",
    "rand_slice_segments",
    "read_config",
    "slice_segments",
    "speaker_vectors",
    "stop_probabilities",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
