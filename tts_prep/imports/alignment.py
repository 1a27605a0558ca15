"""The alignment of an utterance: durations of phones in mel frames, with silences at the ends kept or cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.metadata import version
from os.path import normpath
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AlignmentError, ConfigurationError
from tts_prep.format.files.checksums import file_sha256, json_sha256
from tts_prep.format.files.paths import file_version
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.failures import Failure
from tts_prep.imports.alignment_files import Interval, read_ctm, read_durations, read_textgrid, tile
from tts_prep.preprocess.audio.cleaning import Cut
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues
from tts_prep.preprocess.features.kinds import SYMBOL_LENGTH, FeatureKind, setting
from tts_prep.preprocess.source_utterance import SourceUtterance

Frames = npt.NDArray[np.int64]

# Specifications are asked for with each utterance; to read a version takes a millisecond.
_version_of = cache(version)

MAX_DIFFERENCE: Final = 2
"""The maximum difference in frames between durations and mel that is corrected; a larger one is an error."""


def _ming024(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round each boundary to the nearest frame, halves to even (ming024/FastSpeech2, SpeechBrain)."""
    return np.diff(np.round(bounds * sample_rate / hop_length)).astype(np.int64)


def _paddlespeech(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round each boundary down to a sample, then down to a frame (PaddleSpeech, by librosa.time_to_frames)."""
    frames: Frames = np.diff((bounds * sample_rate).astype(np.int64) // hop_length)
    return frames


def _espnet(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round each boundary down to a frame; the last phone gets the extra frame of centred framing (ESPnet)."""
    return np.diff(np.floor(bounds * sample_rate / hop_length)).astype(np.int64)


def speechain_seconds(bounds: npt.NDArray[np.float64]) -> list[float]:
    """Return the lengths of phones as SpeeChain stores them, rounded to 0.01 s.

    The package textgrid, with which it reads alignments, rounds boundaries to 0.00001 s.
    """
    return [round(length, 2) for length in np.diff([round(time, 5) for time in bounds.tolist()]).tolist()]


def _speechain(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round durations to 0.01 s, then their shares of the mel to frames, halves to even (SpeeChain)."""
    seconds = np.array(speechain_seconds(bounds), np.float32)
    total = seconds.sum()
    if not total > 0:
        return np.zeros(len(seconds), np.int64)
    frames: Frames = np.round(seconds / total * np.float32(n_frames)).astype(np.int64)
    return frames


ROUNDINGS: Final[Mapping[str, Callable[[npt.NDArray[np.float64], int, int, int], Frames]]] = MappingProxyType(
    {"ming024": _ming024, "paddlespeech": _paddlespeech, "espnet": _espnet, "speechain": _speechain}
)


def frames_of(
    bounds: Sequence[float] | npt.NDArray[np.float64], rounding: str, sample_rate: int, hop_length: int, n_frames: int
) -> Frames:
    """Return the frames of each phone, [n_phones], before `settle`.

    Args:
        bounds: [n_phones + 1] the starts of phones and the end of the last one, seconds.
        rounding: one of `ROUNDINGS`.
        n_frames: the number of frames of the mel; used by ``speechain`` only.
    """
    return ROUNDINGS[rounding](np.asarray(bounds, np.float64), sample_rate, hop_length, n_frames)


SURPLUS: Final = ("last_phone", "cut")
"""The treatment of mel frames that the durations do not cover."""


def settle(
    frames: Frames, n_frames: int, where: str, surplus: str = "last_phone", limit: int = MAX_DIFFERENCE
) -> tuple[Frames, int]:
    """Return durations whose sum is n_frames, and the number of frames by which they were changed.

    ``last_phone`` is PaddleSpeech's rule: the difference is added to the last phone, or to the first one if the last is
    too short. If both are too short, PaddleSpeech drops the utterance; this function uses the longest phone. ``cut`` is
    ming024's rule: if the mel has more frames, the durations are unchanged and the mel is cut; if it has fewer, the
    other rule applies.

    Args:
        limit: the maximum difference of the sum in frames.

    Raises:
        AlignmentError: the difference exceeds the limit, or no phone is long enough.
    """
    difference = n_frames - int(frames.sum())
    if difference == 0:
        return frames, 0
    if abs(difference) > limit:
        raise AlignmentError(
            f"{where}: the durations sum to {frames.sum():,} frames, the mel has {n_frames:,}; expected a difference "
            f"of at most {limit}; is it the alignment of another recording?"
        )
    if surplus == "cut" and difference > 0:
        return frames, difference
    settled = frames.copy()
    for phone in (-1, 0, int(np.argmax(settled))):
        if settled[phone] + difference > 0:
            settled[phone] += difference
            return settled, difference
    raise AlignmentError(
        f"{where}: the durations sum to {frames.sum():,} frames, the mel has {n_frames:,}, and no phone is long "
        "enough to correct the difference"
    )


SILENCES: Final = frozenset({"", "sil", "sp", "spn"})
"""The labels of silences that are cut at the ends with ``silences=cut``."""

TEXTGRIDS: Final = (".TextGrid", ".interval")
"""The extensions of TextGrids; Baker's corpus uses the second one."""

ENDINGS: Final = (*TEXTGRIDS, ".npy", ".txt", ".dur")
"""The extensions of alignment files, in the order of lookup."""


@dataclass(frozen=True)
class AlignmentConfig:
    """The settings of alignments."""

    rounding: str = setting(
        "ming024", "conversion of seconds to frames as in ming024 (and SpeechBrain), paddlespeech, espnet or speechain"
    )
    surplus: str = setting(
        "last_phone",
        "mel frames, two at most, that the durations do not cover: last_phone adds them to the last phone, cut removes "
        "them from the mel and all arrays per frame",
    )
    phonemes: str = setting("frontend", "frontend, or alignment, with which labels replace the frontend's phonemes")
    silences: str = setting(
        "kept", "kept, or cut, with which audio and arrays go from the first to the last phone that is no silence"
    )
    tier: str | None = setting(None, "the tier of TextGrids; by default, the first one named phones, phone or phonemes")
    labels: Mapping[str, str] = setting(
        MappingProxyType({"": "sp"}), "the symbol for the label X; a pause without a label is sp"
    )

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("rounding", self.rounding, tuple(ROUNDINGS)),
            ("surplus", self.surplus, SURPLUS),
            ("phonemes", self.phonemes, ("frontend", "alignment")),
            ("silences", self.silences, ("kept", "cut")),
        ):
            if value not in allowed:
                raise ConfigurationError(f"durations: {name}: expected one of {', '.join(allowed)}, found {value!r}")

    @property
    def changes_mels(self) -> bool:
        """Whether alignments change mels or phonemes."""
        return self.surplus == "cut" or self.phonemes == "alignment" or self.silences == "cut"

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as in the manifest."""
        return {**{name: value for name, value in vars(self).items() if value is not None}, "labels": dict(self.labels)}


@dataclass(frozen=True, eq=False)
class Alignment:
    """The phones of one utterance.

    Attributes:
        where: the file, for messages.
        labels: the labels of phones; None if the file has numbers only.
        bounds: [n_phones + 1] seconds from the start of the recording; None if the file has frames.
        frames: [n_phones] frames of phones, if the file has frames.
    """

    where: str
    labels: tuple[str, ...] | None
    bounds: npt.NDArray[np.float64] | None
    frames: Frames | None = None

    @classmethod
    def of_intervals(cls, intervals: tuple[Interval, ...], where: str) -> Alignment:
        """Return the alignment of contiguous intervals."""
        bounds = [interval.start for interval in intervals] + [intervals[-1].end]
        return cls(where, tuple(interval.label for interval in intervals), np.array(bounds))

    @classmethod
    def of_durations(cls, durations: npt.NDArray[Any], where: str) -> Alignment:
        """Return the alignment of durations without labels: integers are frames, other numbers seconds."""
        if durations.dtype.kind in "iu":
            return cls(where, None, None, durations.astype(np.int64))
        return cls(where, None, np.concatenate([[0.0], np.cumsum(durations)]))

    @property
    def n_phones(self) -> int:
        """The number of phones."""
        return len(self.frames) if self.frames is not None else len(self.bounds) - 1 if self.bounds is not None else 0

    def trimmed(self) -> Alignment:
        """Return the alignment without silences at its ends.

        Raises:
            AlignmentError: all phones are silences, or the file has no labels.
        """
        if self.labels is None or self.bounds is None:
            raise AlignmentError(f"{self.where}: has no labels, which silences=cut needs")
        spoken = [i for i, label in enumerate(self.labels) if label not in SILENCES]
        if not spoken:
            raise AlignmentError(f"{self.where}: all phones are silences")
        first, stop = spoken[0], spoken[-1] + 1
        return replace(self, labels=self.labels[first:stop], bounds=self.bounds[first : stop + 1])

    def within(self, cut: Cut, config: AlignmentConfig, sample_rate: int, hop_length: int) -> Alignment:
        """Return the alignment of what trimming kept of a recording.

        Boundaries move with the samples; what lies outside ends at the first or the last of them. Silences that are cut
        off have no length then, and where the labels give the phonemes they are left out.

        Args:
            hop_length: samples of a frame.

        Raises:
            AlignmentError: a phone is cut off that is no silence, or the alignment is that of another recording.
        """
        if self.frames is not None:
            places = np.concatenate([[0], np.cumsum(self.frames)]) * float(hop_length)
        else:
            assert self.bounds is not None
            places = self.bounds * sample_rate
        # One frame more, since centred framing has one more than there are hops.
        if places[-1] > cut.n_samples + (MAX_DIFFERENCE + 1) * hop_length:
            raise AlignmentError(
                f"{self.where}: ends at {places[-1] / sample_rate:.3f} s, the recording at "
                f"{cut.n_samples / sample_rate:.3f} s: is it the alignment of another recording?"
            )
        inner = np.clip(places, cut.start, cut.stop) - cut.start
        gone = (np.diff(inner) <= 0) & (np.diff(places) > 0)
        self._check_gone(gone, places / sample_rate, cut.start / sample_rate, cut.stop / sample_rate)
        labels = self.labels
        if config.phonemes == "alignment" and labels is not None:
            kept = np.flatnonzero(~gone)
            labels = tuple(labels[i] for i in kept.tolist())
            inner = np.concatenate([inner[kept], inner[-1:]])
        if self.frames is not None:
            frames: Frames = np.diff(np.round(inner / hop_length)).astype(np.int64)
            return replace(self, frames=frames)
        return replace(self, labels=labels, bounds=inner / sample_rate)

    def _check_gone(
        self, gone: npt.NDArray[np.bool_], bounds: npt.NDArray[np.float64], start: float, stop: float
    ) -> None:
        """Check that the phones that trimming cuts off are silences; times in seconds."""
        for i in np.flatnonzero(gone).tolist():
            if self.labels is None or self.labels[i] not in SILENCES:
                label = f"phone {i + 1}" if self.labels is None else f"the phone '{self.labels[i]}'"
                raise AlignmentError(
                    f"{self.where}: trimming cuts off {label}, from {bounds[i]:.3f} to {bounds[i + 1]:.3f} s; what is "
                    f"kept goes from {start:.3f} to {stop:.3f} s; give a larger trim_margin"
                )

    def span(self, config: AlignmentConfig, sample_rate: int, hop_length: int, n_samples: int) -> tuple[int, int]:
        """Return the first and the last sample of an utterance without its silences, by the rule of the rounding.

        ming024, SpeechBrain and ESPnet, whose recipes do not cut: ⌊rate · seconds⌋. PaddleSpeech: multiples of frames.
        SpeeChain: shares of the audio, from seconds rounded to 0.01.

        Args:
            n_samples: the number of samples of the recording.
        """
        trimmed = self.trimmed()
        bounds, inner = self.bounds, trimmed.bounds
        assert bounds is not None
        assert inner is not None
        first, last = float(inner[0]), float(inner[-1])
        if config.rounding == "paddlespeech":
            frames = [int(int(time * sample_rate) // hop_length) for time in (first, last)]
            # Converted to seconds and back, as in PaddleSpeech: rounding can change a sample.
            start, stop = (int(frame * hop_length / sample_rate * sample_rate) for frame in frames)
            return start, n_samples if last == bounds[-1] else stop
        if config.rounding == "speechain":
            lengths = speechain_seconds(bounds)
            n_before = int(np.searchsorted(bounds, first))
            n_after = len(lengths) - int(np.searchsorted(bounds, last))
            total = sum(lengths)
            front = sum(lengths[:n_before]) / total
            tail = sum(lengths[len(lengths) - n_after :]) / total
            return int(front * n_samples), n_samples - int(tail * n_samples)
        return int(sample_rate * first), min(int(sample_rate * last), n_samples)

    def symbols(self, config: AlignmentConfig) -> tuple[str, ...]:
        """Return the labels as phonemes.

        Raises:
            AlignmentError: the file has no labels.
        """
        if self.labels is None:
            raise AlignmentError(f"{self.where}: has numbers only, but phonemes=alignment needs labels")
        return tuple(config.labels.get(label, label) for label in self.labels)

    def durations(
        self, config: AlignmentConfig, sample_rate: int, hop_length: int, n_frames: int
    ) -> tuple[Frames, int]:
        """Return durations whose sum is n_frames, [n_phones], and the number of frames by which they were changed.

        If ``surplus`` is ``cut``, the sum may be smaller by up to two; the caller then cuts the mel.

        Raises:
            AlignmentError: the durations differ from the mel by more than two frames.
        """
        if self.frames is not None:
            return settle(self.frames, n_frames, self.where, config.surplus)
        assert self.bounds is not None
        frames = frames_of(self.bounds, config.rounding, sample_rate, hop_length, n_frames)
        if config.rounding != "speechain":
            return settle(frames, n_frames, self.where, config.surplus)
        # Each share is rounded separately, so check the total duration in seconds instead of the sum.
        seconds = float(self.bounds[-1] - self.bounds[0])
        settle(np.array([round(seconds * sample_rate / hop_length)]), n_frames, self.where)
        return settle(frames, n_frames, self.where, config.surplus, limit=len(frames))


def alignment_file(folder: Path, utterance_id: str, speaker: str) -> Path:
    """Find the file of an utterance in a folder of alignments.

    MFA writes one folder per speaker, other aligners a single folder. The file name is the id, or the id after its last
    ``/``. Files outside of the folder are not read.

    Raises:
        AlignmentError: there is no file; the message names the first path that was tried.
    """
    stem = utterance_id.rpartition("/")[2]
    stems = dict.fromkeys([utterance_id, stem])
    places = [folder / name for name in stems] + ([folder / speaker / stem] if speaker else [])
    for place in places:
        # An id or a speaker can contain a path. Not resolved: the folder may have links to files elsewhere.
        if not Path(normpath(place)).is_relative_to(normpath(folder)):
            continue
        for ending in ENDINGS:
            path = place.with_name(place.name + ending)
            if path.is_file():
                return path
    raise AlignmentError(f"{places[0]}.TextGrid: no such file, nor {', '.join(ENDINGS[1:])}; align the utterance first")


@dataclass(frozen=True)
class AlignmentFolder:
    """The alignments of a corpus: a folder with one file per utterance, or one CTM file."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> AlignmentFolder:
        """Return the alignments at a path.

        Raises:
            ConfigurationError: the path is neither a folder nor a file.
        """
        if not path.is_dir() and not path.is_file():
            raise ConfigurationError(
                f"{path}: no such folder or file; expected a folder of TextGrids or durations, or a CTM file"
            )
        return cls(path.absolute())

    def read(self, utterance_id: str, speaker: str, tier: str | None) -> Alignment:
        """Read the alignment of an utterance.

        Raises:
            AlignmentError: the alignment is missing or broken.
        """
        if not self.path.is_dir():
            return Alignment.of_intervals(self._of_ctm(utterance_id), f"{self.path}: '{utterance_id}'")
        path = alignment_file(self.path, utterance_id, speaker)
        if path.suffix in TEXTGRIDS:
            return Alignment.of_intervals(read_textgrid(path, tier, speaker), str(path))
        return Alignment.of_durations(read_durations(path), str(path))

    def sha256(self, utterance_id: str, speaker: str) -> str | None:
        """Return the SHA-256 of an utterance's alignment; None if there is none."""
        try:
            if self.path.is_dir():
                return file_sha256(alignment_file(self.path, utterance_id, speaker))
            return json_sha256([[p.start, p.end, p.label] for p in self._of_ctm(utterance_id)])
        except (AlignmentError, OSError):
            return None

    def _of_ctm(self, utterance_id: str) -> tuple[Interval, ...]:
        intervals = _ctm(self.path, file_version(self.path)).get(utterance_id)
        if intervals is None:
            raise AlignmentError(f"{self.path}: no line of '{utterance_id}'; align the utterance first")
        return tile(intervals, 0.0, 0.0, f"{self.path}: '{utterance_id}'")


@lru_cache(maxsize=1)
def _ctm(path: Path, _version: tuple[int, ...]) -> dict[str, list[Interval]]:
    return read_ctm(path)


@dataclass(frozen=True)
class CorpusAlignments:
    """The alignments of a corpus, and their settings."""

    folder: AlignmentFolder
    settings: AlignmentConfig

    def read(self, utterance: SourceUtterance) -> AlignedUtterance:
        """Read the alignment of an utterance.

        Raises:
            AlignmentError: the alignment is missing or broken.
        """
        return AlignedUtterance(self.folder.read(utterance.id, utterance.speaker, self.settings.tier), self.settings)

    def with_checksums(self, items: Iterable[SourceUtterance | Failure]) -> Iterator[SourceUtterance | Failure]:
        """Yield the rows of a corpus with the checksums of their alignments, which become part of shard keys."""
        for item in items:
            if isinstance(item, SourceUtterance):
                yield replace(item, alignment=self.folder.sha256(item.id, item.speaker) or "")
            else:
                yield item


def open_alignments(path: Path, settings: Mapping[str, Any]) -> CorpusAlignments:
    """Return the alignments of a folder or CTM file, to be used with settings."""
    return CorpusAlignments(AlignmentFolder.open(path), AlignmentConfig(**settings))


@dataclass(frozen=True)
class AlignedUtterance:
    """The alignment of one utterance, to be applied to its recording and phonemes."""

    alignment: Alignment
    settings: AlignmentConfig

    @property
    def _phones(self) -> Alignment:
        return self.alignment.trimmed() if self.settings.silences == "cut" else self.alignment

    @property
    def phonemes(self) -> tuple[str, ...] | None:
        """The labels of phones as symbols; None if the frontend's phonemes are kept.

        Raises:
            AlignmentError: the file has no labels.
        """
        return self._phones.symbols(self.settings) if self.settings.phonemes == "alignment" else None

    def within(self, cut: Cut, sample_rate: int, hop_length: int) -> AlignedUtterance:
        """Return the alignment of what trimming kept of the recording.

        Raises:
            AlignmentError: trimming cuts phones off, or the alignment does not fit the recording.
        """
        return replace(self, alignment=self.alignment.within(cut, self.settings, sample_rate, hop_length))

    def cut(self, waveform: Waveform, sample_rate: int, hop_length: int) -> Waveform:
        """Return a recording without the silences at its ends, if they are to be cut.

        Raises:
            AlignmentError: nothing is left of the recording.
        """
        if self.settings.silences != "cut":
            return waveform
        start, stop = self.alignment.span(self.settings, sample_rate, hop_length, len(waveform))
        if stop <= start:
            raise AlignmentError(
                f"{self.alignment.where}: the phones are from sample {start:,} to {stop:,}, but the recording has "
                f"{len(waveform):,}: is it the alignment of another recording?"
            )
        return waveform[start:stop]

    def n_frames(self, sample_rate: int, hop_length: int, n_frames: int) -> int:
        """Return the number of mel frames to keep.

        Raises:
            AlignmentError: the durations differ from the mel by more than two frames.
        """
        durations, _ = self._phones.durations(self.settings, sample_rate, hop_length, n_frames)
        return int(durations.sum())


@dataclass(frozen=True)
class DurationsFeature:
    """The frames of every phoneme, whose sum is the number of frames of the mel.

    Corrections of the sum are counted as remarks.
    """

    settings: AlignmentConfig
    folder: AlignmentFolder
    sample_rate: int
    hop_length: int

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """``durations`` [n_phonemes] int32."""
        software = {"praatio": _version_of("praatio")}
        return (ArraySpec("durations", "int32", (), "phoneme", settings=self.settings.as_dict(), software=software),)

    def source(self, utterance_id: str, speaker: str) -> str | None:
        """Return the SHA-256 of the utterance's alignment; None if there is none."""
        return self.folder.sha256(utterance_id, speaker)

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the durations of one utterance.

        Raises:
            AlignmentError: the alignment is missing or broken, its number of phones is not that of the phonemes, or its
                durations do not match the mel; or trimming cut off phones.
        """
        alignment = self.folder.read(utterance.id, utterance.speaker, self.settings.tier)
        if utterance.cut is not None:
            alignment = alignment.within(utterance.cut, self.settings, self.sample_rate, self.hop_length)
        if self.settings.silences == "cut":
            alignment = alignment.trimmed()
        if alignment.n_phones != len(utterance.phonemes):
            raise AlignmentError(
                f"{alignment.where}: {alignment.n_phones} phones, but the utterance has {len(utterance.phonemes)} "
                "phonemes"
                + ("" if self.settings.phonemes == "alignment" else "; phonemes=alignment uses those of the file")
            )
        durations, changed = alignment.durations(self.settings, self.sample_rate, self.hop_length, utterance.n_frames)
        remarks = (("durations", f"{changed:+d} frames added to a phone"),) if changed else ()
        return FeatureValues({"durations": durations.astype(np.int32)}, remarks=remarks)


def _make(recipe: MelConfig, settings: AlignmentConfig, alignments: Path) -> DurationsFeature:
    return DurationsFeature(settings, AlignmentFolder.open(alignments), recipe.sample_rate, recipe.hop_length)


KIND: Final = FeatureKind(
    "durations",
    "durations, the number of mel frames of every phoneme, from alignments, or aligned by the store itself",
    _make,
    AlignmentConfig,
    reads="alignments",
    other_names=("duration",),
    columns=(SYMBOL_LENGTH,),
)
