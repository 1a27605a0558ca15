"""lhotse's cuts, as files and as Shar, with mels as features, recordings and arrays. lhotse is not needed."""

import gzip
import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.export.layout import ExportFolder
from tts_prep.export.rows import ExportRow, add_member, added_arrays, export_rows, npy_bytes, wav_bytes
from tts_prep.loader import Utterance, UtteranceDataset
from tts_prep.loader.dataset.identity import stores_of
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.recipes.accepted import ZIPVOICE, check_store

_FIELDS = ("gender", "language")
"""The columns with a field of their own in a supervision, which is text."""

_OF_CUTS = ("cuts", "recording", "features", "tokens", "start", "duration", "channel", "supervisions", "custom", "type")
"""What a cut has besides its arrays."""

_SHARD_ROWS: Final = 1000
"""The cuts of a shard, as in lhotse's ``SharWriter``."""


_Content = tuple[str, bytes, dict[str, Any]]
"""A file of a cut: its kind of file, what it holds, and the entry of the cut without the place of the file."""


def export_lhotse(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``cuts.jsonl.gz``, ``features/``, ``arrays/`` and, if the store has waveforms, ``wavs/``.

    Paths in the manifest start with ``folder`` as given; if it is relative, they are relative to the reader's working
    directory. Columns of the corpus are in ``custom`` of a supervision, but ``gender`` and ``language`` are its fields.
    The symbols of an utterance are ``tokens`` of its cut, arrays of the store its ``custom`` fields: ``TemporalArray``
    if they have a rate, and ``Array``. Mels are unchanged. lhotse requires the duration of features
    to be a multiple of the frame shift, so the duration of a cut is the minimum of the durations of recording and mel.
    """
    _write_cuts(dataset, folder)


def export_zipvoice(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write the files of `export_lhotse` as ZipVoice's ``train_zipvoice.py`` reads them, and its ``tokens.txt``.

    Mels are those before the factor ``feat_scale`` that its training step applies. ``tokens`` of a supervision are the
    symbols of the store; ``tokens.txt`` has their ids, and ``_`` for the padding. Without phonemes, ZipVoice's own
    tokenizer reads the texts.

    Raises:
        ConfigurationError: the mels are not those of ZipVoice; or a symbol is twice in the table, such as ``_``.
    """
    for store in stores_of(dataset) if dataset.n_mels else ():
        check_store(ZIPVOICE, store, can_choose=False)
    symbols = [*dataset.symbols]
    if symbols:
        symbols[dataset.pad_id] = "_"
        if twice := next((symbol for symbol, count in Counter(symbols).items() if count > 1), None):
            raise ConfigurationError(
                f"{dataset.path}: ZipVoice reads tables that have each symbol once, and '_' for the padding; that "
                f"of the store has {twice!r} twice; repeat the command that made it with --update --frontend none, so "
                "that ZipVoice's own tokenizer reads the texts, or with --symbols and its tokens.txt"
            )
        folder.write("tokens.txt", "".join(f"{symbol}\t{number}\n" for number, symbol in enumerate(symbols)))
    scale = get_preset(ZIPVOICE.presets[0]).config.compression.scale
    _write_cuts(dataset, folder, np.float32(scale), in_supervisions=bool(symbols))


def _write_cuts(
    dataset: UtteranceDataset, folder: ExportFolder, scale: Any = 1, *, in_supervisions: bool = False
) -> None:
    with gzip.GzipFile(folder.file("cuts.jsonl.gz"), "wb", mtime=0) as file:
        for row in export_rows(dataset, ("phonemes",), reserved=_OF_CUTS):
            entries = {}
            for name, (suffix, data, entry) in _contents(row, dataset, scale):
                place = {"recording": "wavs", "features": "features"}.get(name, f"arrays/{name}")
                entries[name] = _placed(entry, folder.write(f"{place}/{row.name}{suffix}", data))
            cut = _cut(row, dataset, row.utterance.id, entries)
            if in_supervisions:
                cut["supervisions"][0]["custom"]["tokens"] = cut["custom"].pop("tokens")
            file.write(_line(cut))


def export_shar(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write the shards of lhotse's Shar: ``cuts.000000.jsonl.gz``, and ``FIELD.000000.tar`` for each of its fields.

    Fields are ``recording``, ``features`` and the arrays. The id of a cut is a name without ``/``, because it is that
    of its files; the id of its supervision is that of the utterance.
    """
    rows, number = export_rows(dataset, ("phonemes",), reserved=_OF_CUTS, max_bytes=80), 0
    fields = [*["recording"] * dataset.metadata.has_waveform, *["features"] * bool(dataset.n_mels)]
    fields += added_arrays(dataset, ("phonemes", *_OF_CUTS)).values()
    while group := list(islice(rows, _SHARD_ROWS)):
        with ExitStack() as stack:
            tars = {
                name: stack.enter_context(
                    tarfile.open(folder.file(f"{name}.{number:06d}.tar"), "w", format=tarfile.USTAR_FORMAT)
                )
                for name in fields
            }
            path = folder.file(f"cuts.{number:06d}.jsonl.gz")
            cuts = stack.enter_context(gzip.GzipFile(path, "wb", mtime=0))
            for row in group:
                contents = dict(_contents(row, dataset))
                entries = {name: _placed(entry) for name, (_, _, entry) in contents.items()}
                cuts.write(_line(_cut(row, dataset, row.name, entries)))
                for name, tar in tars.items():
                    suffix, data, _ = contents.get(name, (".nodata", b"", {}))
                    meta = (".json", _line(entries[name])) if name in entries else (".nometa", b"")
                    for ending, content in ((suffix, data), meta):
                        add_member(tar, f"{row.name}{ending}", content)
        number += 1


def _line(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode()


def _contents(row: ExportRow, dataset: UtteranceDataset, scale: Any = 1) -> Iterator[tuple[str, _Content]]:
    """Yield recording, features divided by ``scale``, and arrays of a row, in the fields of lhotse's classes."""
    utterance, rate = row.utterance, dataset.sample_rate
    if utterance.waveform is not None:
        n = len(utterance.waveform)
        recording = {"id": utterance.id, "sampling_rate": rate, "num_samples": n, "duration": n / rate, "sources": []}
        content = wav_bytes(utterance.waveform, rate)
        yield "recording", (".wav", content, {**recording, "channel_ids": [0]})
    if dataset.n_mels:
        yield "features", (".npy", npy_bytes(utterance.mel.astype(np.float32) / scale), _features(utterance, dataset))
    olds = {new: old for old, new in row.names_of_arrays.items()}
    for name, values in row.arrays.items():
        spec = dataset.arrays[olds[name]]
        entry: dict[str, Any] = {"shape": list(values.shape)}
        shifts = {"frame": dataset.hop_length / rate, "sample": 1 / rate, "own": 1 / spec.rate if spec.rate else None}
        if shift := shifts.get(spec.axis):
            entry = {"array": entry, "temporal_dim": 0, "frame_shift": shift, "start": 0.0}
        yield name, (".npy", npy_bytes(values), entry)


def _placed(entry: dict[str, Any], file: Path | None = None) -> dict[str, Any]:
    """Return an entry with the place of its file: without one, it is in a shard of Shar."""
    if "sources" in entry:
        source = {"type": "file" if file else "shar", "channels": [0], "source": str(file or "")}
        return {**entry, "sources": [source]}
    folder, key = (str(file.parent), file.name) if file else ("", "")
    place = {"storage_type": "numpy_files" if file else "shar", "storage_path": folder, "storage_key": key}
    return {**entry, "array": {**entry["array"], **place}} if "array" in entry else {**entry, **place}


def _cut(row: ExportRow, dataset: UtteranceDataset, uid: str, entries: dict[str, Any]) -> dict[str, Any]:
    utterance, rate = row.utterance, dataset.sample_rate
    features_seconds = len(utterance.mel) * dataset.hop_length / rate if dataset.n_mels else utterance.seconds
    columns = row.json_meta
    fields = {name: columns.pop(name) for name in _FIELDS if isinstance(columns.get(name), str)}
    if row.language:
        fields["language"] = row.language
    seconds = features_seconds if utterance.waveform is None else len(utterance.waveform) / rate
    duration = min(seconds, features_seconds)
    times: dict[str, Any] = {"start": 0.0, "duration": duration, "channel": 0}
    supervision = {
        "id": utterance.id,
        "recording_id": utterance.id,
        **times,
        "text": utterance.text,
        "speaker": utterance.speaker,
        **fields,
        "custom": {**columns, "phonemes": utterance.phoneme_text},
    }
    own = {name: entry for name, entry in entries.items() if name in ("recording", "features")}
    custom = {name: entry for name, entry in entries.items() if name not in own}
    custom["tokens"] = [dataset.symbols[i] for i in utterance.phonemes.tolist()]
    return {"id": uid, **times, "supervisions": [supervision], "custom": custom, "type": "MonoCut"} | own


def _features(utterance: Utterance, dataset: UtteranceDataset) -> dict[str, Any]:
    """Return the entry of an utterance's mel spectrogram, in the fields of lhotse's ``Features``."""
    rate, hop = dataset.sample_rate, dataset.hop_length
    return {
        "type": "tts-prep-mel",
        "num_frames": len(utterance.mel),
        "num_features": dataset.n_mels,
        "frame_shift": hop / rate,
        "sampling_rate": rate,
        "start": 0.0,
        "duration": len(utterance.mel) * hop / rate,
        "recording_id": utterance.id,
        "channels": 0,
    }
