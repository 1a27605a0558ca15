"""Data folders of Kaldi and ESPnet, and of SpeeChain, which uses other file names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tts_prep.errors import CorpusError
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance

_RECORDINGS = ("wav.scp", "idx2wav")
# SpeeChain names texts after their format; those with punctuation are preferred.
_TEXTS = ("text", "idx2text", "idx2punc_text", "idx2no-punc_text")
_SPEAKERS = ("utt2spk", "idx2spk")
_COLUMNS = {"gender": ("utt2gender", "utt2gen", "idx2gen"), "language": ("utt2lang", "idx2lang")}
_SPEAKER_COLUMNS = {"gender": ("spk2gender", "spk2gen"), "language": ("spk2lang",)}
# Computed from the audio by Kaldi's tools, or not needed.
_NOT_COLUMNS = ("spk", "uniq", "dur", "num_frames", "wav_len", "feat", "feat_len", "wav", "text", "category")


def read_kaldi(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of a Kaldi data folder, in the order of ``segments`` or of ``wav.scp``.

    Required files are ``wav.scp`` and ``text``. Optional files are ``segments``, ``utt2spk``, ``spk2gender`` or
    ``utt2gender``, and ``utt2lang``; any other ``utt2NAME`` becomes the column NAME. SpeeChain's ``idx2wav``,
    ``idx2text`` (or ``idx2punc_text``, or ``idx2no-punc_text``), ``idx2spk`` and ``idx2gen`` are equivalent. Without
    ``utt2spk``, the speaker is ``"0"``.

    Commands (``sph2pipe … |``) are not run; they fail, and so do recordings inside an archive (``a.ark:17``).

    Raises:
        CorpusError: ``wav.scp`` or ``text`` is missing or empty.
    """
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected a Kaldi data folder with wav.scp and text")
    texts = _read_table(root, _TEXTS, needed=True)
    recordings = _read_table(root, _RECORDINGS, needed=True)
    columns = _Columns.read(root)
    used = set()
    for item in _segments(root, recordings):
        if not isinstance(item, Failure):
            used.add(item.id)
            yield _utterance(item, texts, columns)
        else:
            used.add(item.id)
            yield item
    for identifier, row in texts.rows.items():
        if identifier not in used:
            reason = f"'{identifier}' has a text, but no recording in {recordings.file}"
            yield Failure.of_row(identifier, row.where, reason)
    yield from itertools.chain(texts.failures, recordings.failures)


@dataclass(frozen=True)
class _Row:
    value: str
    where: str


@dataclass(frozen=True)
class _Table:
    """A file of ``key value`` lines; invalid lines become failures."""

    file: str
    rows: Mapping[str, _Row]
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class _Segment:
    """An utterance as a segment of a recording."""

    id: str
    where: str
    audio: str
    start: float = 0.0
    end: float | None = None


@dataclass(frozen=True)
class _Columns:
    """Additional columns: tables by utterance and tables by speaker."""

    speakers: _Table
    by_utterance: Mapping[str, _Table]
    by_speaker: Mapping[str, _Table]

    @classmethod
    def read(cls, root: Path) -> _Columns:
        by_utterance = {name: _read_table(root, files) for name, files in _COLUMNS.items()}
        known = {file for files in (*_COLUMNS.values(), _SPEAKERS, _TEXTS) for file in files}
        for path in sorted(root.iterdir(), key=lambda path: path.name):
            prefix, _, name = path.name.partition("2")
            if prefix not in ("utt", "idx") or path.name in known or name in _NOT_COLUMNS:
                continue
            if not name.isidentifier() or name in FIXED_COLUMNS or name.endswith(("_len", "_feat")):
                continue
            if path.is_file():
                by_utterance[name] = _read_table(root, (path.name,))
        by_speaker = {name: _read_table(root, files) for name, files in _SPEAKER_COLUMNS.items()}
        existing = {name: table for name, table in by_utterance.items() if table.file}
        return cls(_read_table(root, _SPEAKERS), existing, {n: table for n, table in by_speaker.items() if table.file})

    def of(self, identifier: str, speaker: str) -> dict[str, str | float]:
        """Return the columns of an utterance; missing values are empty."""
        empty = _Row("", "")
        meta = {name: table.rows.get(speaker, empty).value for name, table in self.by_speaker.items()}
        for name, table in self.by_utterance.items():
            meta[name] = table.rows.get(identifier, empty).value or meta.get(name, "")
        return {**meta}


def _utterance(segment: _Segment, texts: _Table, columns: _Columns) -> SourceUtterance | Failure:
    identifier = segment.id
    text = texts.rows.get(identifier)
    if text is None:
        reason = f"'{identifier}' has a recording, but no line in {texts.file}"
        return Failure.of_row(identifier, segment.where, reason)
    speaker = ANONYMOUS
    if columns.speakers.file:
        row = columns.speakers.rows.get(identifier)
        if row is None or not row.value:
            reason = f"'{identifier}' has no speaker in {columns.speakers.file}"
            return Failure.of_row(identifier, text.where, reason)
        speaker = row.value
    meta = columns.of(identifier, speaker)
    return SourceUtterance(
        identifier, text.value, segment.audio, text.where, speaker, meta, False, segment.start, segment.end
    )


def _segments(root: Path, recordings: _Table) -> Iterator[_Segment | Failure]:
    """Yield the utterances of ``segments``, or complete recordings if that file does not exist."""
    if not (root / "segments").exists():
        for identifier, row in recordings.rows.items():
            yield _checked(_Segment(identifier, row.where, row.value))
        return
    for where, line in read_lines(root / "segments"):
        if isinstance(line, Failure):
            yield line
            continue
        fields = line.split()
        identifier = fields[0]
        try:
            name, start, end = fields[1], float(fields[2]), float(fields[3])
        except (IndexError, ValueError):
            reason = f"expected 'id recording start end', seconds, found {line.strip()[:60]!r}"
            yield Failure.of_row(identifier, where, reason)
            continue
        recording = recordings.rows.get(name)
        # An end of −1 is the end of the recording.
        if recording is None:
            yield Failure.of_row(identifier, where, f"the recording '{name}' has no line in {recordings.file}")
        elif not (0 <= start < end or (start >= 0 and end == -1)):
            yield Failure.of_row(identifier, where, f"expected a start before an end, found {start:g} and {end:g} s")
        else:
            yield _checked(_Segment(identifier, where, recording.value, start, None if end == -1 else end))


def _checked(segment: _Segment) -> _Segment | Failure:
    audio = segment.audio
    if audio.endswith("|") or audio.startswith("|"):
        reason = f"a command, '{audio[:60]}'; commands are not run; write its output to a file and use that"
    elif audio == "-":
        reason = "standard input; expected the path of a file"
    elif ".ark:" in audio or audio.endswith("]"):
        reason = f"a part of an archive, '{audio[:60]}'; expected the path of a recording; extract it"
    elif not audio:
        reason = "no path of a recording"
    else:
        return segment
    return Failure.of_row(segment.id, segment.where, reason)


def _read_table(root: Path, files: tuple[str, ...], *, needed: bool = False) -> _Table:
    """Read the first of several files that exists.

    The value is the rest of the line after the key. If a key is repeated, the first line is used, the others fail.
    """
    file = next((name for name in files if (root / name).is_file()), None)
    if file is None:
        if needed:
            raise CorpusError(f"{root}: expected {' or '.join(files)}, found none of them; is it a Kaldi data folder?")
        return _Table("", {})
    rows: dict[str, _Row] = {}
    failures = []
    for where, line in read_lines(root / file):
        if isinstance(line, Failure):
            failures.append(line)
            continue
        key, _, value = line.strip().replace("\t", " ", 1).partition(" ")
        if key in rows:
            reason = f"the id '{key}' is already used in {rows[key].where}; only that line is used"
            failures.append(Failure.of_row(key, where, reason))
            continue
        rows[key] = _Row(value.strip(), where)
    return _Table(file, rows, tuple(failures))
