"""Codes and texts without recordings: fish-speech's folder, and the rows of NeuTTS, Inworld TTS and Orpheus."""

import json
from itertools import islice
from typing import Any, Final

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.export.layout import ExportFolder
from tts_prep.export.parquet import import_pyarrow, with_features, write_files
from tts_prep.export.rows import export_rows, find_codes, having, npy_bytes, unique_names
from tts_prep.inference import frontend_of
from tts_prep.loader import Utterance, UtteranceDataset


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


_VALIDATION: Final = 0.001
"""The share of rows, the last ones, that Inworld's ``data_vectorizer.py`` keeps for validation."""

_INWORLD: Final = ("wav_path", "speaker_id", "transcript", "duration", "sample_rate")


def export_inworld(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``SPLIT_codes.npy``, ``SPLIT_codes_index.npy`` and ``SPLIT_samples.jsonl`` of the splits train and val.

    ``tools/data/data_vectorizer.py`` and ``data_merger.py`` of Inworld TTS write these files: codes of all rows as
    plain int32, the first code of each row, and a JSON object for each. ``wav_path``, which it must have and its data
    sets do not open, is the id. Columns ``emotion``, ``style``, ``voice_description`` and ``dnsmos_mos_ovr`` are read.

    Raises:
        ConfigurationError: the store has no array of integers with one codebook, or several.
    """
    codes = find_codes(dataset, "Inworld TTS", 1)
    found = having(dataset, folder, codes)
    rows, n_train = export_rows(found, _INWORLD), int(len(found) * (1 - _VALIDATION))
    for split, count in (("train", n_train), ("val", len(found) - n_train)):
        values, samples = [np.empty(0, np.int32)], []
        for row in islice(rows, count):
            one, language = row.utterance, row.language.partition("-")[0] or "unknown"
            values.append(one.arrays[codes].ravel().astype("<i4"))
            sample: dict[str, Any] = {"id": one.id, "wav_path": one.id, "speaker_id": one.speaker, "language": language}
            sample |= {"transcript": one.text, "duration": one.seconds, "sample_rate": dataset.sample_rate}
            samples.append(json.dumps({**row.json_meta, **sample}, ensure_ascii=False) + "\n")
        folder.write(f"{split}_codes.npy", np.concatenate(values).tobytes())
        folder.write(f"{split}_codes_index.npy", npy_bytes(np.cumsum([len(one) for one in values[:-1]])))
        folder.write(f"{split}_samples.jsonl", "".join(samples))


_LLAMA: Final = 128_256
"""The tokens of Llama 3, after which those of Orpheus begin: of turns and speech, and 4,096 for each of seven codes."""

_CODEBOOK: Final = 4_096

_OF_LLAMA: Final = {128_000: "<|begin_of_text|>", 128_009: "<|eot_id|>"}
"""Tokens by which the tokenizer is known."""


def export_orpheus(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``data/train-00000.parquet`` and so on: lists of integers ``input_ids``, ``labels``, ``attention_mask``.

    ``finetune/train.py`` of Orpheus reads these columns. A row is a turn with the ids of the text, or of
    ``SPEAKER: TEXT`` in a store with several speakers, and one with the codes of SNAC at 24 kHz, seven for each of its
    coarsest frames: of the layers 1, 2, 3, 3, 2, 3, 3. A frame with the same first code as the one before is left out,
    as in the notebook that Orpheus' page names.

    Raises:
        ConfigurationError: the store has no array with seven codes of 4,096, or several; or its texts have no ids of
            Orpheus' tokenizer.
        MissingPackageError: pyarrow is not installed, or the library of the tokenizer.
    """
    codes = find_codes(dataset, "Orpheus", 7)
    pa = import_pyarrow("Orpheus' files")
    for number, token in _OF_LLAMA.items():
        found = dataset.symbols[number] if number < len(dataset.symbols) else "no symbol"
        if found != token:
            raise ConfigurationError(
                f"{dataset.path}: Orpheus needs the ids of its tokenizer, whose token {number:,} is {token}, and the "
                f"store has {found} there; repeat the command that made it with --update --frontend "
                "tokenizer:tokenizer.json, the file of its checkpoint"
            )
    frontend = frontend_of(dataset.path) if len(dataset.speakers) > 1 else None

    def values(one: Utterance) -> dict[str, Any]:
        frames = one.arrays[codes].reshape(-1, 7)
        if frames.size and not 0 <= frames.min() <= frames.max() < _CODEBOOK:
            raise ConfigurationError(
                f"{dataset.path}: Orpheus needs codes from 0 to {_CODEBOOK - 1:,}, and {codes} of {one.id} has "
                f"{frames.min():,} to {frames.max():,}"
            )
        text = frontend(f"{one.speaker}: {one.text}", speaker=one.speaker) if frontend else one.phonemes
        kept = frames[np.append(True, frames[1:, 0] != frames[:-1, 0])[: len(frames)]]
        speech = kept + (_LLAMA + 10 + _CODEBOOK * np.arange(7))
        starts, turns, ends = (_LLAMA + 3,), (128_009, *(_LLAMA + np.array((4, 5, 1)))), _LLAMA + np.array((2, 6))
        ids = np.concatenate((starts, text, turns, speech.ravel(), ends)).astype(np.int32)
        return {"input_ids": ids, "labels": ids, "attention_mask": np.ones(len(ids), np.int8)}

    lists = {"input_ids": pa.int32(), "labels": pa.int32(), "attention_mask": pa.int8()}
    schema = with_features(pa, dataset, [(name, pa.list_(kind)) for name, kind in lists.items()])
    write_files(folder, schema, (values(row.utterance) for row in export_rows(having(dataset, folder, codes))))
