"""The layouts of exports by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tts_prep.errors import ConfigurationError
from tts_prep.export.alignments import export_ctm, export_textgrids
from tts_prep.export.fastspeech2 import export_fastspeech2
from tts_prep.export.folder import ExportFolder, exporting
from tts_prep.export.kaldi import export_espnet, export_kaldi
from tts_prep.export.lhotse import export_lhotse
from tts_prep.export.nemo import export_nemo
from tts_prep.export.parquet import export_parquet
from tts_prep.export.piper import export_piper
from tts_prep.export.webdataset import export_webdataset
from tts_prep.loader import UtteranceDataset

LAYOUTS: Final[Mapping[str, Callable[[UtteranceDataset, ExportFolder], None]]] = {
    "ctm": export_ctm,
    "espnet": export_espnet,
    "fastspeech2": export_fastspeech2,
    "kaldi": export_kaldi,
    "lhotse": export_lhotse,
    "nemo": export_nemo,
    "parquet": export_parquet,
    "piper": export_piper,
    "textgrid": export_textgrids,
    "webdataset": export_webdataset,
}

_HUGGING_FACE: Final = ("parquet", "Hugging Face's datasets")
_READ_BY: Final = {
    **dict.fromkeys(("hf", "huggingface", "hugging-face", "datasets", "arrow"), _HUGGING_FACE),
    **dict.fromkeys(("wds", "tar", "tars"), ("webdataset", "WebDataset")),
    **dict.fromkeys(("fs2", "ming024"), ("fastspeech2", "ming024's FastSpeech2")),
    **dict.fromkeys(("praat", "mfa", "textgrids"), ("textgrid", "Praat")),
    **dict.fromkeys(("json", "jsonl", "manifest"), ("nemo", "NeMo")),
}
"""Other words for a layout: the layout, and the program that reads it."""


def export(store: str | Path, layout: str, folder: str | Path) -> list[Path]:
    """Write a store in the layout of another system, and return the paths of the files.

    The folder appears when all of its files are complete.

    Args:
        store: the store.
        layout: one of `LAYOUTS`, such as ``lhotse``.
        folder: a folder that is new or empty.

    Raises:
        ConfigurationError: the layout is unknown or needs arrays that the store lacks, or the folder is not empty.
        StoreError: the store is missing or incomplete, or a file cannot be written.
    """
    if layout not in LAYOUTS:
        meant = _READ_BY.get(layout.lower())
        hint = f"; the layout for {meant[1]} is {meant[0]!r}" if meant else ""
        raise ConfigurationError(f"to: expected one of {', '.join(LAYOUTS)}, found {layout!r}{hint}")
    dataset = UtteranceDataset(store)
    if not len(dataset):
        raise ConfigurationError(f"{store}: has no utterances; there is nothing to export")
    place = Path(folder)
    with exporting(place) as target:
        LAYOUTS[layout](dataset, target)
    return [place / name for name in target.files]
