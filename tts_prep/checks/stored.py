"""The measures of a store as columns of its index, added by ``tts-prep add --measures``."""

from __future__ import annotations

from typing import Any

from tts_prep.format.layout import UTTERANCE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest

ARRAY = "measures"
"""The name of the array of the columns."""

VERSION = 2
"""The version of the definitions of the measures. Increase it when one of them changes."""

COLUMNS = {
    "phones": "n_phones",
    "phone_rate": "phones_per_second",
    "loudness": "loudness_lufs",
    "snr": "snr_db",
    "pitch": "pitch_hz",
    "peak": "peak_dbfs",
    "clipped_samples": "clipped_samples",
    "silence_start": "silence_start_seconds",
    "silence_end": "silence_end_seconds",
    "silence_inside": "silence_inside_seconds",
    "digital_silence": "digital_silence_seconds",
    "level_start": "level_start_db",
    "level_end": "level_end_db",
    "bandwidth": "bandwidth_hz",
    "bandwidth_share": "bandwidth_share",
    "audio_copies": "audio_copies",
    "similarity": "similarity",
    "text_copies": "text_copies",
    "mismatch": "mismatch",
    "text_fit": "text_fit",
    "unspoken": "unspoken_phones",
}
"""Measure → column of the index; ``seconds`` is a column anyway."""

PARTNERS = {"audio_copies": "audio_copy_of", "similarity": "similar_to", "text_copies": "text_copy_of"}
"""Measure of duplicates → column of the row of the earlier utterance in the index, or -1."""

SEPARATION = "text_separation"
"""The column of `Measures.separation`, which is the same in every row."""

NAMES = (*COLUMNS.values(), *PARTNERS.values(), SEPARATION)


def measures_spec(manifest: Manifest) -> ArraySpec:
    """Return the specification of the array of measures. It depends on the store and the definitions."""
    settings = {"version": VERSION, "plan": manifest.plan, "pitch": _shown(manifest.specs.get("pitch"))}
    return ArraySpec(ARRAY, "float64", (len(NAMES),), UTTERANCE, settings=settings, index_columns=NAMES)


def holds_measures(spec: ArraySpec, pitch: ArraySpec | None) -> bool:
    """Return whether an array has measures of this version, computed with the store's current pitch."""
    settings = spec.settings
    return spec.index_columns == NAMES and settings.get("version") == VERSION and settings.get("pitch") == _shown(pitch)


def _shown(pitch: ArraySpec | None) -> dict[str, Any] | None:
    return pitch.as_dict() if pitch else None
