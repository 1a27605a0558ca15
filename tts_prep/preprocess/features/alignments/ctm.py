"""CTM files of Kaldi and of NeMo's aligner: one line ``utterance channel start duration phone`` per phone."""

from __future__ import annotations

from pathlib import Path

from tts_prep.errors import CorpusError
from tts_prep.format.files.regular_files import read_regular
from tts_prep.preprocess.features.alignments.intervals import Interval


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
