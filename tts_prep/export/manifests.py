"""Recordings and a list of them: NeMo's, Piper's and Coqui TTS's, and the JSON lines of codec language models."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tts_prep.export.layout import ExportFolder
from tts_prep.export.rows import CODES, ExportRow, export_rows, find_codes, having, require_waveforms, wav_bytes
from tts_prep.loader import Utterance, UtteranceDataset
from tts_prep.recipes.accepted import PIPER, check_ids

_NEMO_KEYS = ("audio_filepath", "duration", "phonemes", "speaker_name", "audio_filename", "mel_filepath", "offset")
"""The last three are not written, but NeMo would open other files because of them, or start within a recording."""


def export_nemo(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``manifest.json`` and ``wavs/``.

    Keys are those of NeMo's ``TTSDataset``, ``audio_filepath`` (relative to the manifest), ``duration`` (s), ``text``
    and ``speaker`` (an integer), and in addition ``id``, ``phonemes`` (text), ``speaker_name``, the columns of the
    corpus, and arrays as lists. ``TTSDataset`` opens relative paths in the current directory, NeMo's other datasets in
    the manifest's folder or their ``audio_dir``.

    Raises:
        ConfigurationError: the store has no waveforms.
    """
    require_waveforms(dataset, "NeMo")
    lines = []
    for row in export_rows(dataset, _NEMO_KEYS):
        utterance = row.utterance
        assert utterance.waveform is not None
        folder.write(f"wavs/{row.name}.wav", wav_bytes(utterance.waveform, dataset.sample_rate))
        value = {
            **row.json_meta,
            **({"language": row.language} if row.language else {}),
            "id": utterance.id,
            "audio_filepath": f"wavs/{row.name}.wav",
            "duration": len(utterance.waveform) / dataset.sample_rate,
            "text": utterance.text,
            "phonemes": utterance.phoneme_text,
            "speaker": utterance.speaker_code,
            "speaker_name": utterance.speaker,
            **{name: values.tolist() for name, values in row.arrays.items()},
        }
        lines.append(json.dumps(value, ensure_ascii=False) + "\n")
    folder.write("manifest.json", "".join(lines))


def export_piper(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``metadata.csv`` and ``wavs/``.

    Lines are ``utt_id|text|phoneme_ids``, or ``utt_id|speaker|text|phoneme_ids`` with several speakers, as Piper's
    training reads them with ``--data.dataset_type phoneme_ids``. Fields with ``|`` or quotes are quoted as in CSV.

    Raises:
        ConfigurationError: the store has no waveforms, or other ids than Piper.
    """
    require_waveforms(dataset, "Piper")
    check_ids(PIPER, dataset.metadata)
    has_speakers = len(dataset.speakers) > 1

    def cells(name: str, text: str, one: Utterance) -> Sequence[str]:
        return (name, *([one.speaker] if has_speakers else []), text, " ".join(map(str, one.phonemes.tolist())))

    _write_metadata(dataset, folder, cells)


def export_coqui(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``metadata.csv`` and ``wavs/``.

    The columns are those of the formatter ``coqui`` of Coqui TTS, ``audio_file|text|speaker_name``, with a header, by
    which all of its models are trained, XTTS, too.

    Raises:
        ConfigurationError: the store has no waveforms.
    """
    require_waveforms(dataset, "Coqui TTS")
    header = ("audio_file", "text", "speaker_name")
    _write_metadata(dataset, folder, lambda name, text, one: (f"wavs/{name}", text, one.speaker), header)


def _write_metadata(
    dataset: UtteranceDataset,
    folder: ExportFolder,
    cells: Callable[[str, str, Utterance], Sequence[str]],
    header: Sequence[str] = (),
) -> None:
    """Write recordings, and a table of the cells of each: from its name, its text in one line, and the utterance."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter="|", lineterminator="\n")
    writer.writerows([header] if header else [])
    for row in export_rows(dataset):
        one, name = row.utterance, f"{row.name}.wav"
        assert one.waveform is not None
        folder.write(f"wavs/{name}", wav_bytes(one.waveform, dataset.sample_rate))
        writer.writerow(cells(name, " ".join(one.text.split()), one))
    folder.write("metadata.csv", file.getvalue())


REFERENCE: Final = "ref_audio"
_JSONL_KEYS: Final = ("id", "audio", "text", "speaker", "duration", CODES, f"{REFERENCE}_codes")

_SECONDS: Final = 5.0
"""The duration that a chosen reference is nearest to: as long as the clips of Qwen3-TTS's examples."""


def export_jsonl(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``train.jsonl`` and ``audio/``.

    Keys are those of Qwen3-TTS's ``finetuning/dataset.py``, MOSS-TTS's ``finetuning/dataset.py`` and VoxCPM's
    ``training/data.py``: ``audio`` and ``ref_audio`` (paths of WAV files), ``text``, ``language``, ``duration`` (s);
    with codes ``audio_codes`` and ``ref_audio_codes``, lists [n_frames][n_codebooks]. In addition ``id``, ``speaker``,
    the columns of the corpus, such as ``instruct``, and the other arrays as lists. A store of codes without waveforms
    has no recordings.

    A column ``ref_audio`` has the id of the utterance that is a row's reference, or a path, which is written as it is.
    Other rows have that utterance of their speaker which is nearest to 5 s, and not themselves if there is another.

    Raises:
        ConfigurationError: the store has neither waveforms nor codes, or several arrays that can be the codes.
    """
    codes, lines = find_codes(dataset, "jsonl", needed=False), []
    if not codes:
        require_waveforms(dataset, "the layout jsonl")
    elif not dataset.metadata.has_waveform:
        folder.report("left out: recordings; the store has no waveforms")
    rows = list(export_rows(having(dataset, folder, codes) if codes else dataset, _JSONL_KEYS))
    by_id, candidates = {row.utterance.id: row for row in rows}, _candidates(rows)
    for row in rows:
        utterance, audio = row.utterance, {}
        if utterance.waveform is not None:
            content = wav_bytes(utterance.waveform, dataset.sample_rate)
            audio["audio"] = str(folder.write(f"audio/{row.name}.wav", content))
        named = str(row.meta.get(REFERENCE, ""))
        other = by_id.get(named) if named else _reference(row, candidates[utterance.speaker])
        value: dict[str, Any] = {
            **row.json_meta,
            **({"language": row.language} if row.language else {}),
            "id": utterance.id,
            **audio,
            "text": utterance.text,
            "speaker": utterance.speaker,
            "duration": utterance.seconds,
            **{new: values.tolist() for new, values in row.arrays.items() if new != row.names_of_arrays.get(codes)},
        }
        if audio or named:
            value[REFERENCE] = str(folder.place / f"audio/{other.name}.wav") if audio and other else named
        if codes:
            value[CODES] = _list(row, codes)
            if other:
                value[f"{REFERENCE}_codes"] = _list(other, codes)
        lines.append(json.dumps(value, ensure_ascii=False) + "\n")
    folder.write("train.jsonl", "".join(lines))


def _list(row: ExportRow, codes: str) -> list[list[int]]:
    values = row.utterance.arrays[codes]
    found: list[list[int]] = values.reshape(len(values), -1).tolist()
    return found


def _candidates(rows: list[ExportRow]) -> Mapping[str, list[ExportRow]]:
    """Return the two utterances of each speaker that are nearest to the duration of a reference."""
    by_speaker: dict[str, list[ExportRow]] = {}
    for row in rows:
        by_speaker.setdefault(row.utterance.speaker, []).append(row)
    return {
        speaker: sorted(of, key=lambda row: abs(row.utterance.seconds - _SECONDS))[:2]
        for speaker, of in by_speaker.items()
    }


def _reference(row: ExportRow, candidates: list[ExportRow]) -> ExportRow:
    return next((other for other in candidates if other is not row), row)
