"""The list of phoneme ids that Piper trains on, and recordings."""

from __future__ import annotations

import csv
import io
from typing import Final

from tts_prep.export.folder import ExportFolder
from tts_prep.export.layout import Layout
from tts_prep.export.rows import export_rows, require_waveforms, wav_bytes
from tts_prep.loader import UtteranceDataset
from tts_prep.recipes.accepted import PIPER, check_ids


def export_piper(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``metadata.csv`` and ``wavs/``.

    Lines are ``utt_id|text|phoneme_ids``, or ``utt_id|speaker|text|phoneme_ids`` with several speakers, as Piper's
    training reads them with ``--data.dataset_type phoneme_ids``. Fields with ``|`` or quotes are quoted as in CSV.

    Raises:
        ConfigurationError: the store has no waveforms, or other ids than Piper.
    """
    require_waveforms(dataset, "Piper")
    check_ids(PIPER, dataset.metadata)
    file = io.StringIO()
    writer = csv.writer(file, delimiter="|", lineterminator="\n")
    for row in export_rows(dataset):
        utterance = row.utterance
        assert utterance.waveform is not None
        folder.write(f"wavs/{row.name}.wav", wav_bytes(utterance.waveform, dataset.sample_rate))
        speaker = [utterance.speaker] if len(dataset.speakers) > 1 else []
        ids = " ".join(map(str, utterance.phonemes.tolist()))
        writer.writerow([f"{row.name}.wav", *speaker, " ".join(utterance.text.split()), ids])
    folder.write("metadata.csv", file.getvalue())


LAYOUT: Final = Layout(
    "piper",
    export_piper,
    "`metadata.csv`, `wavs/`",
    "`python3 -m piper.train fit` with the dataset type `phoneme_ids`",
    needs="waveforms, `--symbols piper --blanks between`",
)
