"""The measures of a store as columns of its index, added by ``tts-prep add --measures``."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tts_prep.checks.catalogue import MEASURES, VERSION
from tts_prep.checks.findings import Floats, Measures, speech_seconds
from tts_prep.checks.mismatch import rank_correlations
from tts_prep.errors import broken
from tts_prep.format.layout import UTTERANCE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.loader import UtteranceDataset

ARRAY: Final = "measures"
"""The name of the array of the columns."""

SEPARATION: Final = "text_separation"
"""The column of `Measures.separation`, which is the same in every row."""

_MEASURED: Final = tuple(measure for measure in MEASURES if measure.column)
_COPIES: Final = tuple(measure for measure in MEASURES if measure.copy_column)

NAMES: Final[tuple[str, ...]] = (
    *(str(measure.column) for measure in _MEASURED),
    *(measure.copy_column for measure in _COPIES),
    SEPARATION,
)
"""The columns: measures, rows of the earlier utterances of duplicates (or -1), and the separation."""


def measures_spec(manifest: Manifest) -> ArraySpec:
    """Return the specification of the array of measures. It depends on the store and the definitions."""
    settings = {"version": VERSION, "plan": manifest.plan, "pitch": _as_dict(manifest.specs.get("pitch"))}
    return ArraySpec(ARRAY, "float64", (len(NAMES),), UTTERANCE, settings=settings, index_columns=NAMES)


def measures_table(measures: Measures) -> Floats:
    """Return the measures as an array for ``tts-prep add --measures``, [n, len(NAMES)]."""
    values = [measures.columns[measure.name] for measure in _MEASURED]
    values += [measures.partners[measure.name].astype(np.float64) for measure in _COPIES]
    return np.stack([*values, np.full(len(measures.dataset), measures.separation)], axis=1)


def holds_measures(dataset: UtteranceDataset) -> bool:
    """Return whether a dataset is a complete store with measures of this version and of the store's current pitch.

    Measures of duplicates are rows of the store, so they are of no use in a part of it.
    """
    spec = read_manifest(dataset.path).specs.get(ARRAY)
    if spec is None or spec.index_columns != NAMES or spec.settings.get("version") != VERSION:
        return False
    same_pitch = spec.settings.get("pitch") == _as_dict(dataset.arrays.get("pitch"))
    return same_pitch and np.array_equal(dataset.indices, np.arange(len(dataset)))


def stored_measures(dataset: UtteranceDataset) -> Measures:
    """Return the measures in the index of a store, if `holds_measures`.

    Raises:
        CorruptStoreError: a row of an earlier utterance is none of the store.
    """
    numbers = {m.name: np.array(dataset.columns[str(m.column)], np.float64) for m in _MEASURED}
    numbers = {m.name: numbers[m.name] if m.column else m.compute(dataset) for m in MEASURES}
    partners = {m.name: np.array(dataset.columns[m.copy_column]) for m in _COPIES}
    for name, rows in partners.items():
        if not ((rows >= -1) & (rows < len(dataset))).all():
            column = next(m.copy_column for m in MEASURES if m.name == name)
            raise broken(f"{dataset.path}: the column '{column}' has invalid rows")
    separation = np.array(dataset.columns[SEPARATION], np.float64)
    correlations: Mapping[str, float] = {}
    if not np.isnan(numbers["phones"]).any():
        codes = np.asarray(dataset.speaker.checked_codes(), np.int64)
        speech = speech_seconds(numbers["seconds"], numbers["silence_start"], numbers["silence_end"])
        correlations = rank_correlations(speech, numbers["phones"], codes, tuple(dataset.speaker.table))
    return Measures(
        dataset=dataset,
        columns=numbers,
        partners={name: rows.astype(np.int64) for name, rows in partners.items()},
        correlations=correlations,
        separation=float(separation[0]) if len(separation) else np.nan,
    )


def _as_dict(spec: ArraySpec | None) -> dict[str, Any] | None:
    return spec.as_dict() if spec else None
