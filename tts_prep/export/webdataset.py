"""WebDataset: tar archives in which the files of a row are adjacent and share a stem."""

import json
import tarfile

from tts_prep.export.layout import ExportFolder
from tts_prep.export.rows import ExportRow, add_member, export_rows, npy_bytes, wav_bytes
from tts_prep.loader import UtteranceDataset

_ROWS = 1000
"""The number of rows of an archive."""


def export_webdataset(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``000000.tar`` and so on.

    A row has ``.json`` (id, text, phonemes, speaker, columns), ``.mel.npy`` [n_frames, n_mels], ``.phonemes.npy``
    [n_phonemes] int32, ``.ARRAY.npy`` for each array and, if the store has waveforms, ``.wav``.
    """
    archive: tarfile.TarFile | None = None
    # The key of a row ends at the first dot; a member of a USTAR archive has a name of at most 100 bytes.
    for number, row in enumerate(export_rows(dataset, ("duration",), dots=False, max_bytes=80)):
        if number % _ROWS == 0:
            if archive:
                archive.close()
            path = folder.file(f"{number // _ROWS:06d}.tar")
            archive = tarfile.open(path, "w", format=tarfile.USTAR_FORMAT)  # noqa: SIM115 - closed after its last row
        assert archive
        for suffix, data in _files(row, dataset.sample_rate).items():
            add_member(archive, f"{row.name}{suffix}", data)
    if archive:
        archive.close()


def _files(row: ExportRow, sample_rate: int) -> dict[str, bytes]:
    utterance = row.utterance
    value = {
        **row.json_meta,
        **({"language": row.language} if row.language else {}),
        "id": utterance.id,
        "text": utterance.text,
        "phoneme_text": utterance.phoneme_text,
        "speaker": utterance.speaker,
        "duration": utterance.seconds,
    }
    files = {
        ".json": json.dumps(value, ensure_ascii=False).encode(),
        **({".mel.npy": npy_bytes(utterance.mel)} if utterance.store.n_mels else {}),
        ".phonemes.npy": npy_bytes(utterance.phonemes),
        **{f".{name}.npy": npy_bytes(values) for name, values in row.arrays.items()},
    }
    if utterance.waveform is not None:
        files[".wav"] = wav_bytes(utterance.waveform, sample_rate)
    return files
