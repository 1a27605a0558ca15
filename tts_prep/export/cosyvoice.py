"""CosyVoice's parquet files."""

from itertools import islice
from typing import Any, Final

from tts_prep.export.layout import ExportFolder
from tts_prep.export.parquet import import_pyarrow
from tts_prep.export.rows import ExportRow, export_rows, having, require_array, require_waveforms, wav_bytes
from tts_prep.loader import UtteranceDataset
from tts_prep.recipes.language_model import speaker_vectors

TOKENS: Final = "speech_tokens"
VECTOR: Final = "speaker_vector"
_REJECTED: Final = "reject_speech_tokens"

_FILE_ROWS: Final = 1000
"""Utterances per file, as in CosyVoice's make_parquet_list.py."""

_INSTRUCT, _END = "You are a helpful assistant.", "<|endofprompt|>"
"""The instruction of CosyVoice 3's run.sh, and the token that ends each."""


def export_cosyvoice(dataset: UtteranceDataset, folder: ExportFolder, *, has_instruct: bool = False) -> None:
    """Write ``parquet_000000000.tar`` and so on, which are parquet files in spite of their names, and ``data.list``.

    Columns are those of CosyVoice's ``tools/make_parquet_list.py``: ``utt``, ``audio_data`` (WAV), ``wav``, ``text``,
    ``spk``, ``utt_embedding``, ``spk_embedding``, the mean of a speaker's vectors, and ``speech_token``; with an array
    ``reject_speech_tokens`` also ``reject_speech_token``; for CosyVoice 3 also ``instruct``, the column of this name or
    else that of its ``run.sh``.

    Raises:
        ConfigurationError: the store has no waveforms, speech tokens or speaker vectors.
        MissingPackageError: pyarrow is not installed.
    """
    require_waveforms(dataset, "CosyVoice")
    require_array(dataset, "CosyVoice", TOKENS, "own", "iu", 0)
    require_array(dataset, "CosyVoice", VECTOR, "utterance", "f", 1)
    pa = import_pyarrow("CosyVoice's files")
    total, dataset = len(dataset), having(dataset, folder, VECTOR)
    tokens = {TOKENS: "speech_token"}
    if _REJECTED in dataset.arrays:
        require_array(dataset, "CosyVoice", _REJECTED, "own", "iu", 0)
        tokens[_REJECTED] = "reject_speech_token"
    have = {name: set(dataset.having(name).id) for name in tokens}
    folder.carried.update(tokens, ["instruct"] * has_instruct)
    if left_out := len(dataset) - len(set.intersection(*have.values())):
        folder.report(f"{left_out:,} of {total:,} utterances left out by CosyVoice itself: empty {', '.join(tokens)}")
    means = speaker_vectors(dataset, VECTOR)

    def values(row: ExportRow) -> dict[str, Any]:
        utterance = row.utterance
        assert utterance.waveform is not None
        found = {
            "utt": row.name,
            "audio_data": wav_bytes(utterance.waveform, dataset.sample_rate),
            "wav": f"{row.name}.wav",
            "text": utterance.text,
            "spk": utterance.speaker,
            "utt_embedding": utterance.arrays[VECTOR],
            "spk_embedding": means[utterance.speaker],
        }
        # As of recordings over 30 s, for which CosyVoice has no tokens: its filter leaves them out.
        found |= {new: utterance.arrays[name] if utterance.id in have[name] else [] for name, new in tokens.items()}
        if has_instruct:
            instruct = str(row.meta.get("instruct", _INSTRUCT))
            found["instruct"] = instruct if _END in instruct else instruct + _END
        return found

    texts = [(name, pa.string()) for name in ("wav", "text", "spk", *["instruct"] * has_instruct)]
    vectors = [(name, pa.list_(pa.float32())) for name in ("utt_embedding", "spk_embedding")]
    lists = [(name, pa.list_(pa.int64())) for name in tokens.values()]
    schema = pa.schema([("utt", pa.string()), ("audio_data", pa.binary()), *texts, *vectors, *lists])
    rows, names = export_rows(dataset), list[str]()
    while group := [values(row) for row in islice(rows, _FILE_ROWS)]:
        names.append(f"parquet_{len(names):09d}.tar")
        pa.parquet.write_table(pa.Table.from_pylist(group, schema), folder.file(names[-1]))
    folder.write("data.list", "".join(f"{folder.place / name}\n" for name in names))


def export_cosyvoice3(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write the files of `export_cosyvoice` with the column ``instruct``."""
    export_cosyvoice(dataset, folder, has_instruct=True)
