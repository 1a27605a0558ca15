"""The formats of alignments: TextGrids, CTM files, and durations without labels.

TextGrids are those of Praat and of the Montreal Forced Aligner, in long and short form, UTF-8 and UTF-16. CTM files, of
Kaldi and of NeMo's aligner, have one line ``utterance channel start duration phone`` per phone. Durations are one
number per phoneme: ``.npy`` files, or text separated by white space or commas.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AlignmentError, CorpusError, one_line
from tts_prep.format.files.regular_files import check_regular, read_regular
from tts_prep.preprocess.features.array_sources import read_npy

# Seconds. Aligners write each boundary twice, with five to fifteen digits; smaller differences are rounding.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Interval:
    """One phone: start and end in seconds from the start of the recording, and its label, empty for a pause."""

    start: float
    end: float
    label: str


def tile(intervals: Iterable[Interval], begin: float, end: float, where: str) -> tuple[Interval, ...]:
    """Return contiguous intervals from ``begin`` to ``end``, with gaps filled by intervals with empty labels.

    Raises:
        AlignmentError: a time is negative or not finite, an interval ends before it begins, or intervals overlap.
    """
    tiled: list[Interval] = []
    last = begin
    for interval in intervals:
        start, stop, label = interval.start, interval.end, interval.label
        if not (math.isfinite(start) and math.isfinite(stop)) or start < 0:
            raise AlignmentError(f"{where}: '{label}' from {start:g} to {stop:g} s; expected times >= 0")
        if stop < start:
            raise AlignmentError(f"{where}: '{label}' from {start:g} to {stop:g} s ends before it begins")
        if start < last - TOLERANCE:
            raise AlignmentError(
                f"{where}: '{label}' begins at {start:g} s, before the previous interval ends at {last:g} s"
            )
        if start > last + TOLERANCE:
            tiled.append(Interval(last, start, ""))
        tiled.append(interval)
        last = stop
    if end > last + TOLERANCE:
        tiled.append(Interval(last, end, ""))
    if not tiled:
        raise AlignmentError(f"{where}: contains no interval")
    return tuple(tiled)


def read_ctm(path: Path) -> dict[str, list[Interval]]:
    """Return the phones of every utterance in a CTM file, sorted by start, with gaps and overlaps.

    Raises:
        CorpusError: the file cannot be read, or a line is malformed.
    """
    by_utterance: dict[str, list[Interval]] = {}
    try:
        lines = read_regular(path).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as a CTM file ({error})") from error
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or line.startswith(";;"):
            continue
        try:
            uid, _, start, duration, label = fields[:5]
            begin, length = float(start), float(duration)
        except ValueError:
            raise CorpusError(
                f"{path}:{number}: expected 'utterance channel start duration phone', found {line[:60]!r}"
            ) from None
        by_utterance.setdefault(uid, []).append(Interval(begin, begin + length, label))
    return {uid: sorted(phones, key=lambda phone: phone.start) for uid, phones in by_utterance.items()}


_MAX_REASON: Final = 200
"""The maximum length of a reason: numpy and Python quote what they could not read, which may be the whole file."""


def read_durations(path: Path) -> npt.NDArray[Any]:
    """Read the durations in a file, [n_phonemes]: int64 frames, or float64 seconds.

    Raises:
        AlignmentError: the file is missing or not a list of numbers, or a number is negative or not finite.
    """
    try:
        values = read_npy(path) if path.suffix == ".npy" else _numbers(path)
    except FileNotFoundError:
        raise AlignmentError(f"{path}: no such file, expected the durations of the utterance") from None
    except (OSError, ValueError, OverflowError) as error:
        raise AlignmentError(f"{path}: cannot be read as durations ({one_line(str(error), _MAX_REASON)})") from error
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not len(values):
        raise AlignmentError(
            f"{path}: {values.dtype} of shape {list(values.shape)}, expected one number per phoneme: integers are "
            "frames, others seconds"
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise AlignmentError(f"{path}: contains a number that is not finite, expected durations in seconds")
    if values.min() < 0:
        raise AlignmentError(f"{path}: the duration {values.min():g} is negative")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _numbers(path: Path) -> npt.NDArray[Any]:
    words = read_regular(path).decode("utf-8").strip("[] \r\n\t").replace(",", " ").split()
    try:
        return np.array([int(word) for word in words], np.int64)
    except ValueError:
        return np.array([float(word) for word in words], np.float64)


PHONE_TIERS = ("phones", "phone", "phonemes")
"""The default names of the tier of phones, in the order of lookup."""


def read_textgrid(path: Path, tier: str | None = None, speaker: str = "") -> tuple[Interval, ...]:
    """Return the phones of a TextGrid as contiguous intervals from its start to its end.

    The TextGrid of several speakers has one tier per speaker, which MFA names ``SPEAKER - phones``.

    Args:
        tier: the name of the tier of phones; None uses the first one in `PHONE_TIERS`.
        speaker: the speaker of the utterance, to select among the tiers of several speakers.

    Raises:
        AlignmentError: the file is missing or not a TextGrid, the tier is missing or ambiguous, or intervals overlap.
    """
    from praatio import textgrid
    from praatio.utilities.errors import PraatioException

    try:
        check_regular(path)
        grid = textgrid.openTextgrid(str(path), includeEmptyIntervals=True, reportingMode="silence")
    except FileNotFoundError:
        raise AlignmentError(f"{path}: no such file, expected the TextGrid of the utterance") from None
    except OSError as error:
        raise AlignmentError(f"{path}: cannot be read ({error.strerror})") from error
    except PraatioException as error:
        raise AlignmentError(f"{path}: {_first_line(error)}") from error
    except Exception as error:  # praatio does not handle errors of split() and float()
        raise AlignmentError(f"{path}: not a TextGrid ({_first_line(error) or type(error).__name__})") from error
    names = tuple(grid.tierNames)
    # Baker's corpus has one tier per file, named after the file.
    is_only = tier is None and path.suffix == ".interval" and len(names) == 1
    name = names[0] if is_only else _phone_tier(path, names, tier, speaker)
    phones = grid.getTier(name)
    if not isinstance(phones, textgrid.IntervalTier):
        raise AlignmentError(f"{path}: tier '{name}' contains points, expected intervals")
    intervals = [Interval(float(entry.start), float(entry.end), entry.label) for entry in phones.entries]
    if not any(interval.label for interval in intervals):
        raise AlignmentError(f"{path}: tier '{name}' has no labels")
    return tile(intervals, float(grid.minTimestamp), float(grid.maxTimestamp), f"{path}: tier '{name}'")


def _phone_tier(path: Path, names: tuple[str, ...], tier: str | None, speaker: str) -> str:
    allowed = PHONE_TIERS if tier is None else (tier,)
    for name in allowed:
        if name in names:
            return name
    of_speakers = [candidate for candidate in names for name in allowed if candidate.endswith(f" - {name}")]
    if speaker:
        of_speakers = [
            candidate for candidate in of_speakers if candidate.rpartition(" - ")[0] == speaker
        ] or of_speakers
    if len(of_speakers) == 1:
        return of_speakers[0]
    shown = ", ".join(f"'{name}'" for name in names) or "none"
    if of_speakers:
        raise AlignmentError(
            f"{path}: phones of several speakers ({shown}), none of them '{speaker}'; name the tier with tier=NAME"
        )
    raise AlignmentError(f"{path}: no tier '{allowed[0]}', found {shown}; name the tier of phones with tier=NAME")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
