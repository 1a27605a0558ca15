"""F5-TTS's arrow files, with mels or with recordings."""

import json
from itertools import islice
from typing import Any, Final

import numpy as np

from tts_prep.export.layout import ExportFolder
from tts_prep.export.parquet import import_pyarrow
from tts_prep.export.rows import ExportRow, export_rows, require_waveforms, wav_bytes
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.loader.dataset.identity import stores_of
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.recipes.accepted import F5_TTS, check_store
from tts_prep.recipes.f5tts import FLOOR

_BATCH_ROWS: Final = 64
"""The rows of a record batch, which is held in memory."""


def export_f5tts(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``mel.arrow``, or ``raw.arrow`` and ``wavs/`` of a store without mels; ``duration.json``, ``vocab.txt``.

    Columns are those of F5-TTS's ``CustomDataset``: ``audio_path``, ``text``, a list of symbols, ``duration`` (s) and
    ``mel_spec`` [n_mels, n_frames] float32. Symbols are those of the store, or letters with the frontend ``characters``
    or none. ``vocab.txt`` has the symbols that are used, a space first, as ``get_tokenizer`` requires, or those of the
    table ``f5``.

    Raises:
        ConfigurationError: the mels are not those of F5-TTS; or there are neither mels nor waveforms.
        MissingPackageError: pyarrow is not installed.
    """
    for store in stores_of(dataset) if dataset.n_mels else ():
        check_store(F5_TTS, store, can_choose=False)
    if not dataset.n_mels:
        require_waveforms(dataset, "F5-TTS without mels")
    pa = import_pyarrow("F5-TTS's files")
    released, used = dataset.symbols == get_table("f5").symbols, set[str]()
    by_letter = read_manifest(dataset.path).configuration.get("text", {}).get("frontend") in ("none", "characters")
    durations: list[float] = []

    def values(row: ExportRow) -> dict[str, Any]:
        utterance, found = row.utterance, {}
        if dataset.n_mels:
            found["mel_spec"] = list(np.maximum(utterance.mel.T, np.float32(FLOOR), dtype=np.float32))
        elif utterance.waveform is not None:
            folder.write(f"wavs/{row.name}.wav", wav_bytes(utterance.waveform, dataset.sample_rate))
        # The table f5 also has syllables, such as "ma", which the frontend finds in words; F5-TTS has letters there.
        written = utterance.phoneme_text or utterance.text
        symbols = [*written] if by_letter else [dataset.symbols[i] for i in utterance.phonemes.tolist()]
        found["text"] = [" " if symbol.isspace() else symbol for symbol in symbols]
        used.update(found["text"])
        durations.append(utterance.seconds)
        return {"audio_path": str(folder.place / f"wavs/{row.name}.wav"), "duration": utterance.seconds, **found}

    fields = [("audio_path", pa.string()), ("text", pa.list_(pa.string())), ("duration", pa.float64())]
    mels = [("mel_spec", pa.list_(pa.list_(pa.float32())))] if dataset.n_mels else []
    schema, rows = pa.schema([*fields, *mels]), export_rows(dataset)
    path = folder.file("mel.arrow" if mels else "raw.arrow")
    with path.open("wb") as file, pa.ipc.new_stream(file, schema) as writer:
        while group := [values(row) for row in islice(rows, _BATCH_ROWS)]:
            writer.write_table(pa.Table.from_pylist(group, schema))
    folder.write("duration.json", json.dumps({"duration": durations}))
    vocabulary = dataset.symbols if released else [" ", *sorted(used - {" "})]
    folder.write("vocab.txt", "".join(f"{symbol}\n" for symbol in vocabulary))
    if not released:
        hint = "which --frontend characters --symbols f5 gives"
        folder.report(f"vocab.txt: {len(vocabulary):,} symbols, not those of F5-TTS's released models, {hint}")
