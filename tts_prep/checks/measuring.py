"""The measures of all utterances of a store, from its arrays or from its index, whose columns they can be."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import Mels, MelSound, decibels_of_unit, mel_levels, mel_powers
from tts_prep.acoustics.threads import map_slices
from tts_prep.checks.catalogue import MEASURES, VERSION, Measure
from tts_prep.checks.distortions import decay_seconds
from tts_prep.checks.duplicates import fingerprints
from tts_prep.checks.findings import Findings, Floats, Measures, Rows, speech_seconds
from tts_prep.checks.mismatch import rank_correlations
from tts_prep.checks.transcripts import TranscriptChecker
from tts_prep.checks.voices import SIZE, describe
from tts_prep.checks.waveforms import Waveform
from tts_prep.errors import broken
from tts_prep.format.layout import UTTERANCE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.features.kinds import hertz
from tts_prep.progress import Progress, ShowProgress, in_notebooks

Powers = npt.NDArray[np.float32]

_AT_A_TIME = 20_000
"""The number of frames that a thread measures at a time, except of longer utterances; it limits the memory."""

_OF_WAVEFORMS: Final = tuple(measure for measure in MEASURES if measure.of in ("waveform", "sound"))
_OF_MELS: Final = tuple(measure for measure in MEASURES if measure.of == "sound")
_NAMES: Final = tuple(measure.name for measure in _OF_WAVEFORMS)


def measure(
    dataset: UtteranceDataset,
    *,
    use_stored: bool = True,
    known: Floats | None = None,
    progress: ShowProgress = in_notebooks,
) -> Measures:
    """Measure all utterances of a dataset, reading each array once.

    Example:
        >>> from tts_prep.checks import measure
        >>> from tts_prep.loader import UtteranceDataset
        >>> measures = measure(UtteranceDataset("scored"))
        >>> measures
        <Measures: 4 utterances of 'scored'>
        >>> measures.values("text_copies").tolist()
        [0.0, 0.0, 0.0, 0.0]

    Args:
        dataset: the dataset.
        use_stored: whether to use measures that ``tts-prep add --measures`` has added to the index.
        known: the measures of single waveforms or mels, NaN in rows that are to be measured, [n, n_names].
        progress: called with the number of measured utterances of each step.

    Raises:
        CorruptStoreError: a shard does not match the manifest or the index.
    """
    if use_stored and holds_measures(dataset):
        return stored_measures(dataset)
    lengths = dataset.n_frames.tolist()
    n = len(lengths)
    progress(Progress(0, n, step="loading the measures, or compiling them"))
    reader = _Reader(dataset, known)
    parts = map_slices(reader.read, lengths, _AT_A_TIME, lambda done: progress(Progress(done, n, step="measuring")))
    rows = Rows.joined(parts or [reader.read(slice(0, 0))])
    progress(Progress(n, n, step="comparing"))
    found = Findings(dataset, rows, _NAMES)
    columns = {m.name: _column(m, found) for m in MEASURES}
    return Measures(dataset, columns, found.copies, found.correlations, found.text_fits[1])


def _column(one: Measure, found: Findings) -> Floats:
    if one.of in ("waveform", "sound"):
        return found.of_sounds(one.name)
    values: Floats = one.compute(found if one.of == "store" else found.dataset)
    return values


def measures_of_update(old: Path, new: Path, rows: npt.NDArray[np.int64]) -> tuple[ArraySpec, Floats]:
    """Return the array of measures of an updated store, which was not measured yet.

    Measures of single waveforms are taken from the old store for unchanged rows. What compares rows is made again.

    Args:
        old, new: the folders of both stores.
        rows: for each row of the new store the same row of the old one, or -1, [n].
    """
    before, dataset = UtteranceDataset(old), UtteranceDataset(new)
    known = None
    if holds_measures(before):
        columns = [np.append(np.asarray(before.columns[str(one.column)], np.float64), np.nan) for one in _OF_WAVEFORMS]
        known = np.stack(columns, axis=1)[rows]
    table = measures_table(measure(dataset, use_stored=False, known=known))
    return measures_spec(read_manifest(new)), table


def sound_measures(sound: Waveform | MelSound) -> dict[str, float]:
    """Return the measures of one waveform or mel by name."""
    measures = _OF_WAVEFORMS if isinstance(sound, Waveform) else _OF_MELS
    return {measure.name: measure.compute(sound) for measure in measures}


class _Reader:
    """Reads the arrays of utterances, each once, and measures each utterance on its own."""

    def __init__(self, dataset: UtteranceDataset, known: Floats | None) -> None:
        self._dataset, self._known = dataset, known
        self._unit = decibels_of_unit(dataset.metadata.audio_settings)
        self._checker = TranscriptChecker(dataset, self._unit)

    def read(self, positions: slice) -> Rows:
        """Measure some utterances; called from several threads."""
        part = self._dataset[positions]
        phonemes, mels = part.views("phonemes"), Mels.of(part.views("mel"), part.n_mels)
        phones, pauses = self._checker.count(phonemes)  # raises where an id is not in the vocabulary
        powers = self._powers(mels)
        sounds = self._sounds(part, mels, powers, positions)
        compared = self._checker.compare(mels, phonemes, part.seconds.tolist())
        pitches, decays, voices = _mean_pitches(part), *self._rooms_and_voices(part, mels, powers)
        return Rows(sounds, pitches, decays, voices, fingerprints(mels), phones, pauses, compared)

    def _powers(self, mels: Mels) -> Powers | None:
        """Return the powers of mels, [n_frames, n_mels]; None if decibels are not known."""
        return mel_powers(mels, self._unit) if self._unit else None

    def _rooms_and_voices(self, part: UtteranceDataset, mels: Mels, powers: Powers | None) -> tuple[Floats, Floats]:
        """Return the times of decays, [n], and descriptions of voices, [n, SIZE]; NaN if decibels are not known."""
        if powers is None or not self._unit:
            return np.full(len(part), np.nan), np.full((len(part), SIZE), np.nan)
        return decay_seconds(mels, powers, part.hop_length / part.sample_rate), describe(mels, self._unit)

    def _sounds(self, part: UtteranceDataset, mels: Mels, powers: Powers | None, positions: slice) -> Floats:
        """Return the measures of waveforms or mels, of which some may be known."""
        if self._known is None:
            return self._measure_sounds(part, mels, powers)
        sounds = self._known[positions].copy()
        new = np.flatnonzero(np.isnan(sounds).all(axis=1))
        if len(new):
            rows = part[new]
            mels = Mels.of(rows.views("mel"), rows.n_mels)
            sounds[new] = self._measure_sounds(rows, mels, self._powers(mels))
        return sounds

    def _measure_sounds(self, part: UtteranceDataset, mels: Mels, powers: Powers | None) -> Floats:
        """Return the measures of waveforms, or of mels if there are none, [n, len(_NAMES)]."""
        waveforms = part.views("waveform") if part.has_waveform else []
        # Only a damaged store has these; all measures would be silently wrong.
        if np.isnan(mels.loudest).any() or not all(
            waveform.dtype == np.int16 or np.isfinite(waveform).all() for waveform in waveforms
        ):
            raise broken(f"{part.path}: an array has values that are not finite")
        numbers = np.full((len(part), len(_NAMES)), np.nan)
        recordings = [Waveform(waveform, part.sample_rate) for waveform in waveforms]
        # One measure after another, because its code and its tables then stay in the processor's cache.
        for column, measure in enumerate(_OF_WAVEFORMS if recordings else ()):
            numbers[:, column] = [measure.compute(recording) for recording in recordings]
        if powers is not None and not part.has_waveform:
            places = [_NAMES.index(measure.name) for measure in _OF_MELS]
            levels = mel_levels(mels, powers, part.silence)
            for row, (start, stop) in enumerate(zip(mels.starts[:-1], mels.starts[1:], strict=True)):
                sound = MelSound(levels[start:stop], part.hop_length / part.sample_rate)
                numbers[row, places] = [*sound_measures(sound).values()]
        return numbers


def _mean_pitches(part: UtteranceDataset) -> Floats:
    """Return the mean pitch of the voiced frames of each utterance in Hz, [n]; NaN if there are none."""
    means = np.full(len(part), np.nan)
    spec = part.arrays.get("pitch")
    if spec is None or "voiced" not in part.arrays:
        return means
    unit = spec.settings.get("unit")
    for row, (pitch, voiced) in enumerate(zip(part.views("pitch"), part.views("voiced"), strict=True)):
        values = hertz(unit, pitch, voiced)
        values = values[np.isfinite(values)]
        if len(values):
            means[row] = float(values.mean())
    return means


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
