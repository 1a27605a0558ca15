"""The formats of alignments: TextGrids, CTM files, and durations without labels.

TextGrids are those of Praat and of the Montreal Forced Aligner, in long and short form, UTF-8 and UTF-16. CTM files, of
Kaldi and of NeMo's aligner, have one line ``utterance channel start duration phone`` per phone. Durations are one
number per phoneme: ``.npy`` files, or text separated by white space or commas.
"""

import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AlignmentError, CorpusError, one_line
from tts_prep.format.files.paths import check_regular, open_regular, read_regular
from tts_prep.imports.arrays import read_npy

# Seconds. Aligners write each boundary twice, with five to fifteen digits; smaller differences are rounding.
TOLERANCE = 1e-4

MAX_SECONDS: Final = 1e9
"""The maximum time; the samples until then are an integer of 64 bits at any sample rate."""

_MAX_BYTES: Final = 1 << 24
"""The maximum length of a TextGrid, of which that of an hour of speech has some megabytes, and of durations."""

_MAX_LINE: Final = 1 << 16


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
    if not (0 <= begin <= MAX_SECONDS and 0 <= end <= MAX_SECONDS):
        raise AlignmentError(f"{where}: from {begin:g} to {end:g} s; expected times from 0 to {MAX_SECONDS:g}")
    tiled: list[Interval] = []
    last = begin
    for interval in intervals:
        start, stop, label = interval.start, interval.end, interval.label
        if not (math.isfinite(start) and math.isfinite(stop)) or start < 0 or stop > MAX_SECONDS:
            raise AlignmentError(
                f"{where}: '{label}' from {start:g} to {stop:g} s; expected times from 0 to {MAX_SECONDS:g}"
            )
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
    for number, line in enumerate(_lines_of_ctm(path), 1):
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


def _lines_of_ctm(path: Path) -> Iterator[str]:
    try:
        with open_regular(path) as raw, BufferedReader(raw) as file:
            # Editors on Windows write a byte order mark, which would become a part of the first id.
            if file.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
                file.read(len(BOM_UTF8))
            while line := file.readline(_MAX_LINE):
                if len(line) == _MAX_LINE:
                    raise CorpusError(f"{path}: cannot be read as a CTM file (a line of more than {_MAX_LINE:,} bytes)")
                # All line ends of Unicode separate lines.
                yield from line.decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as a CTM file ({error})") from error


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
    # In float64, because the sum of integers can wrap around.
    with np.errstate(over="ignore"):
        total = values.sum(dtype=np.float64)
    if total > MAX_SECONDS:
        raise AlignmentError(f"{path}: the durations sum to {total:g}, more than the maximum of {MAX_SECONDS:g}")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


_DECIMAL_COMMA: Final = re.compile(r"\d+,\d+").fullmatch


def _numbers(path: Path) -> npt.NDArray[Any]:
    text = read_regular(path, _MAX_BYTES).decode("utf-8-sig").strip("[] \r\n\t")
    words = text.replace(",", " ").split()
    # Two separators: one comma within a number is that of decimals, as in '0,35 0,20', which would become frames.
    if len(parts := text.split()) > 1 and (comma := next(filter(_DECIMAL_COMMA, parts), "")):
        raise AlignmentError(f"{path}: '{comma[:20]}' has a decimal comma, or two numbers; write 0.35, or a space")
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

    grid = _open_textgrid(path)
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


def _open_textgrid(path: Path) -> Any:
    """Return the TextGrid in a file.

    Raises:
        AlignmentError: the file is missing, too large or not a TextGrid.
    """
    from praatio import textgrid
    from praatio.utilities.errors import PraatioException

    try:
        check_regular(path)
        if (size := path.stat().st_size) > _MAX_BYTES:
            raise AlignmentError(f"{path}: {size:,} bytes, more than the maximum of {_MAX_BYTES:,} for a TextGrid")
        return textgrid.openTextgrid(str(path), includeEmptyIntervals=True, reportingMode="silence")
    except FileNotFoundError:
        raise AlignmentError(f"{path}: no such file, expected the TextGrid of the utterance") from None
    except OSError as error:
        raise AlignmentError(f"{path}: cannot be read ({error.strerror})") from error
    except AlignmentError:
        raise
    except PraatioException as error:
        raise AlignmentError(f"{path}: {_first_line(error)}") from error
    except Exception as error:  # praatio does not handle errors of split() and float()
        raise AlignmentError(f"{path}: not a TextGrid ({_first_line(error) or type(error).__name__})") from error


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
    return one_line(str(error).strip().partition("\n")[0], _MAX_REASON)
