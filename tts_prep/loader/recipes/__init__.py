"""Recipes: datasets and batches as other training systems define them, read from a store.

A recipe imports further packages (torch, PyYAML) on first use.
"""

from tts_prep.loader.recipes.parakeet import LJSpeechCollector, stop_probabilities
from tts_prep.loader.recipes.speechain import build_iterators, read_config
from tts_prep.loader.recipes.styletts2 import Collater, FilePathDataset, build_dataloader
from tts_prep.loader.recipes.wavenet import DataCollector

__all__ = [
    "Collater",
    "DataCollector",
    "FilePathDataset",
    "LJSpeechCollector",
    "build_dataloader",
    "build_iterators",
    "read_config",
    "stop_probabilities",
]
