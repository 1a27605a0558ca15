"""What a corpus reader yields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Utterance:
    """One recording and what is said in it.

    Attributes:
        id: unique in the corpus.
        text: what is said.
        audio: path of the recording, relative to the root of the corpus, or absolute where the corpus has it so.
        where: the file and line that the utterance was read from, such as ``metadata.csv:41``.
        speaker: any text.
        meta: further meta information, name → text or number; a column of the index each. Frontends that know
            languages follow ``language``, a code such as ``en-us``.
        normalized: the text is as it is spoken: numbers and abbreviations are in words.
        start, end: seconds; the part of the recording that is the utterance. An end of None is that of the recording.
        inside: where in the file ``audio`` the recording lies, as `tts_prep.preprocess.recordings` writes it; empty
            where the file is the recording.
        channel: of a recording with several, from 0; None for what the settings say.
        alignment: SHA-256 of its alignment, where alignments change what is stored; empty elsewhere.
    """

    id: str
    text: str
    audio: str
    where: str
    speaker: str
    meta: Mapping[str, str | float] = field(default_factory=dict)
    normalized: bool = False
    start: float = 0.0
    end: float | None = None
    inside: str = ""
    channel: int | None = None
    alignment: str = ""

    @property
    def language(self) -> str | None:
        """The language of the text, where the corpus says so."""
        return str(self.meta["language"]) if self.meta.get("language") else None


@dataclass(frozen=True)
class Failure:
    """An utterance, or a row that should have been one, that is left out; one line of ``failures.jsonl``.

    Attributes:
        id: of the utterance, or empty where the row has none.
        where: the file and line in the corpus.
        stage: ``corpus``, ``text``, ``audio``, ``alignment`` or ``feature``.
        reason: what was found and what was expected, in one line.
    """

    id: str
    where: str
    stage: str
    reason: str
