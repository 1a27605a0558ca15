"""TextGrids of Praat and of the Montreal Forced Aligner, in long and short form, UTF-8 and UTF-16."""

from __future__ import annotations

from pathlib import Path

from tts_prep.errors import AlignmentError
from tts_prep.format.files.regular_files import check_regular
from tts_prep.preprocess.features.alignments.intervals import Interval, tile

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
