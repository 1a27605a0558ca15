"""The rows that corpus readers yield."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

ANONYMOUS: Final = "0"
"""The speaker of a corpus without speakers, as in StyleTTS2's lists."""


@dataclass(frozen=True)
class SourceUtterance:
    """A recording, or a segment of one, and its transcript.

    Attributes:
        id: the id, unique in the corpus.
        text: the transcript.
        audio: the path of the recording, relative to the root of the corpus, or absolute if the corpus has it so; empty
            for a row without one, which has arrays alone and is as long as ``end``.
        where: the file and line that the utterance was read from, such as ``metadata.csv:41``.
        speaker: the name or id of the speaker.
        meta: additional columns of the index, name → text or number. ``language``, a code such as ``en-us``, selects
            the language of frontends that support several.
        normalized: whether the text is normalized: numbers and abbreviations are spelled out.
        start, end: the segment of the recording in seconds. If ``end`` is None, it is the end of the recording.
        inside: the location of the recording inside the file ``audio``, in the format of
            `tts_prep.preprocess.recording_locations`; empty if the file is the recording.
        channel: the channel of a recording with several, from 0; None selects the one of the settings.
        alignment: the SHA-256 of its alignment if the configuration uses alignments, otherwise empty.
        lists: what stands for the values of its arrays in the files of the corpus, array name → entry, as the door
            ``lists`` reads it; another value has another entry.
        lists_at: where these values are.
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
    lists: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lists_at: str = ""

    @property
    def language(self) -> str | None:
        """The language of the text, or None if the corpus does not specify it."""
        return str(self.meta["language"]) if self.meta.get("language") else None
