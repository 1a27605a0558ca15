"""The measures of a store as columns of its index, as ``tts-prep add --measures`` writes them."""

from __future__ import annotations

from typing import Any

from tts_prep.format.arrays import ArraySpec
from tts_prep.format.layout import UTTERANCE
from tts_prep.format.manifest import Manifest

ARRAY = "measures"
"""The array whose numbers are the columns."""

VERSION = 1
"""Of the definitions of the measures; it changes when one of them does."""

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
"""Measure → column of the index; ``seconds`` has one of that name."""

PARTNERS = {"audio_copies": "audio_copy_of", "similarity": "similar_to", "text_copies": "text_copy_of"}
"""Measure of duplicates → column of the earlier utterance: its row in the index, -1 for none."""

SEPARATION = "text_separation"
"""Column of `Measures.separation`, the same in every row."""

NAMES = (*COLUMNS.values(), *PARTNERS.values(), SEPARATION)


def measures_spec(manifest: Manifest) -> ArraySpec:
    """Return the array of the measures of a store; it differs where the store or the definitions do."""
    settings = {"version": VERSION, "plan": manifest.plan, "pitch": _shown(manifest.specs.get("pitch"))}
    return ArraySpec(ARRAY, "float64", (len(NAMES),), UTTERANCE, settings=settings, index_columns=NAMES)


def holds_measures(spec: ArraySpec, pitch: ArraySpec | None) -> bool:
    """Return whether an array holds measures as this version defines them, with those of the store's pitch."""
    settings = spec.settings
    return spec.index_columns == NAMES and settings.get("version") == VERSION and settings.get("pitch") == _shown(pitch)


def _shown(pitch: ArraySpec | None) -> dict[str, Any] | None:
    return pitch.as_dict() if pitch else None
