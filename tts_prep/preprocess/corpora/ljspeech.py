"""The LJ Speech corpus, and corpora of the same layout."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.quantities import count_text

SPEAKER = "ljspeech"
_OTHER_SEPARATOR = re.compile(r"[\w./-]+[,;\t]\S")
_MOST_OTHERS = 0.1
"""The share of rows whose text may contain the name of its speaker."""
_HEADER = frozenset(
    (
        *("id", "audio", "audio_file", "file", "file_name", "filename", "path", "wav", "speaker"),
        *("text", "transcript", "transcription", "sentence"),
        *("normalized", "normalized text", "normalized_text", "text_normalized", "normalized_transcription"),
    )
)


def read_ljspeech(root: Path, report: Callable[[str], None] = lambda _: None) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``metadata.csv`` (``id|text|normalized text``) with their ``wavs/<id>.wav``.

    The folder can be ``wav``, as of Piper's studio, and the recordings FLAC.

    Double quotes are part of the text. The text is the third column, or the second if the third is empty or missing.
    Both are normalized by the frontend: the third column spells out numbers, but 595 rows of LJ Speech contain
    abbreviations (Dr., St., Co.). An invalid row is yielded as a `Failure`. Lists with ``id|speaker|text``, as in
    Piper, are recognized by their second field.

    Args:
        report: called with one line if the second field is the speaker.

    Raises:
        CorpusError: ``metadata.csv`` or the folder ``wavs`` is missing, or there are no rows.
    """
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected an LJ Speech corpus with metadata.csv and wavs/")
    lines = list(read_lines(root / "metadata.csv"))
    folder = next((name for name in ("wavs", "wav") if (root / name).is_dir()), "")
    if not folder:
        raise CorpusError(f"{root / 'wavs'}: no such folder; expected one recording <id>.wav per row")
    suffix = "wav" if any((root / folder).glob("*.wav")) or not any((root / folder).glob("*.flac")) else "flac"
    speakers = _speakers([line for _, line in lines if isinstance(line, str)])
    if speakers:
        report(f"columns: id|speaker|text, with {count_text(len(speakers), 'speaker')}, as the second field repeats")
    for where, line in lines:
        yield _parse(where, line, f"{folder}/{{}}.{suffix}", has_speakers=bool(speakers))


def _speakers(lines: Sequence[str]) -> frozenset[str]:
    """Return the speakers if the second field of ``metadata.csv`` is one, otherwise none.

    A text in the second field has several words, or words of the normalized text in the third field.
    """
    rows = [[field.strip() for field in line.split("|")] for line in lines]
    rows = [row for row in rows if len(row) == 3 and row[1] and row[2]]
    names = frozenset(row[1] for row in rows)
    if not rows or 2 * len(names) > len(rows):
        return frozenset()
    others = sum(" " in name or name.lower() in text.lower() for _, name, text in rows)
    return names if others <= _MOST_OTHERS * len(rows) else frozenset()


def _parse(where: str, line: str | Failure, audio: str, *, has_speakers: bool) -> SourceUtterance | Failure:
    if isinstance(line, Failure):
        return line
    fields = line.split("|")
    identifier = fields[0].strip()
    if len(fields) not in (2, 3):
        reason = f"{where}: expected 'id|text|normalized text', found {len(fields)} field{'s' * (len(fields) != 1)}"
        if _OTHER_SEPARATOR.match(line):
            reason += "; 'tts-prep manifest' reads fields separated by commas or tabs, below a header"
        return Failure(identifier, where, "corpus", reason)
    if not identifier:
        return Failure.of_row("", where, "expected an id before the first '|', found none")
    if where.endswith(":1") and _HEADER.issuperset(field.strip().lower() for field in fields):
        return Failure.of_row(identifier, where, "the names of columns, expected a recording; remove the line")
    if has_speakers and len(fields) == 3:
        speaker, text = fields[1].strip(), fields[2].strip()
        return SourceUtterance(identifier, text, audio.format(identifier), where, speaker or SPEAKER)
    text = fields[2] if len(fields) == 3 and fields[2].strip() else fields[1]
    return SourceUtterance(identifier, text.strip(), audio.format(identifier), where, SPEAKER)


CORPUS = Corpus(
    "ljspeech",
    read_ljspeech,
    r"""Make STORE of the LJ Speech corpus, or of a folder with the same layout, at CORPUS.

    CORPUS contains metadata.csv (id|text|normalized text) and wavs/<id>.wav or .flac, or the folder wav. Run the same
    command again to resume an interrupted run.

    \b
    Example:
      tts-prep ljspeech LJSpeech-1.1 store --jobs 8
    """,
    layout=(("metadata.csv", "wavs"), ("metadata.csv", "wav")),
)
