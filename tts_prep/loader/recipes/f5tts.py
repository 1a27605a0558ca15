"""Moved to `tts_prep.recipes`."""

from tts_prep.loader.moved import moved

__getattr__ = moved(
    __name__,
    "tts_prep.recipes.f5tts",
    {"CustomDataset": "F5TTSDataset", "collate_fn": "collate_f5tts", "load_dataset": "load_f5tts_dataset"},
)
