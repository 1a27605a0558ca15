"""Rows of codes and texts, without recordings: fish-speech's folder, and the data set of NeuTTS's fine-tuning."""

from __future__ import annotations

import numpy as np

from tts_prep.export.layout import ExportFolder
from tts_prep.export.parquet import import_pyarrow, with_features, write_files
from tts_prep.export.rows import export_rows, find_codes, having, npy_bytes, unique_names
from tts_prep.loader import UtteranceDataset


def export_fish_speech(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``SPEAKER/NAME.npy``, codes [n_codebooks, n_frames], and ``SPEAKER/NAME.lab``, the text beside it.

    ``tools/vqgan/extract_vq.py`` of fish-speech writes these files, and ``tools/llama/build_dataset.py
    --text-extension .lab`` packs them.

    Raises:
        ConfigurationError: the store has no codes, or several arrays that can be the codes.
    """
    codes = find_codes(dataset, "fish-speech")
    speakers = dict(zip(dataset.speakers, unique_names(dataset.speakers), strict=True))
    for row in export_rows(having(dataset, folder, codes)):
        values, stem = row.utterance.arrays[codes], f"{speakers[row.utterance.speaker]}/{row.name}"
        folder.write(f"{stem}.npy", npy_bytes(np.ascontiguousarray(values.reshape(len(values), -1).T)))
        folder.write(f"{stem}.lab", row.utterance.text)


def export_neutts(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``data/train-00000.parquet`` and so on: ``__key__``, ``text`` and ``codes``, a list of integers.

    These are the columns that ``preprocess_sample`` of NeuTTS's ``examples/finetune.py`` reads.

    Raises:
        ConfigurationError: the store has no array of integers with one codebook, or several.
        MissingPackageError: pyarrow is not installed.
    """
    codes = find_codes(dataset, "NeuTTS", 1)
    pa = import_pyarrow("NeuTTS's files")
    fields = [("__key__", pa.string()), ("text", pa.string()), ("codes", pa.list_(pa.int32()))]
    rows = (
        {"__key__": row.utterance.id, "text": row.utterance.text, "codes": row.utterance.arrays[codes].ravel()}
        for row in export_rows(having(dataset, folder, codes))
    )
    write_files(folder, with_features(pa, dataset, fields), rows)
