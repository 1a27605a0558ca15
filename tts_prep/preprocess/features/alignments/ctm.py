"""CTM files: one line a phone, ``utterance channel start duration phone``, as Kaldi and NeMo's aligner write them."""

from __future__ import annotations

from pathlib import Path

from tts_prep.errors import CorpusError
from tts_prep.format.regular_files import read_regular
from tts_prep.preprocess.features.alignments.intervals import Interval


def read_ctm(path: Path) -> dict[str, list[Interval]]:
    """Return the phones of every utterance in a CTM file, by their start; gaps and overlaps are as they stand.

    Raises:
        CorpusError: the file cannot be read, or a line has too few fields or a time that is no number.
    """
    found: dict[str, list[Interval]] = {}
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
        found.setdefault(uid, []).append(Interval(begin, begin + length, label))
    return {uid: sorted(phones, key=lambda phone: phone.start) for uid, phones in found.items()}
