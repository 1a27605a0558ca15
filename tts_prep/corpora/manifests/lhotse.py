"""lhotse manifests: cuts, or supervisions with the recordings that they refer to. lhotse is not needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tts_prep.corpora.manifests.json_lines import json_objects
from tts_prep.corpora.manifests.rows import Row
from tts_prep.format.records.failures import Failure


@dataclass(frozen=True)
class _Span:
    """A segment of a recording and its transcript."""

    id: str
    recording: Mapping[str, Any]
    channel: Any
    start: float
    end: float
    supervision: Mapping[str, Any]


class Lhotse:
    """Cuts (``cuts.jsonl.gz``), or supervisions and recordings.

    A cut with one supervision is one utterance of the cut's length. In other cuts, each supervision is an utterance.

    Args:
        path: the manifest of the cuts or the supervisions.
        recordings: the manifest of the recordings that supervisions refer to.
    """

    holds_audio = True
    arrays: tuple[str, ...] = ()

    def __init__(self, path: Path, recordings: Path | None = None) -> None:
        self._path = path
        self._recordings = {
            str(value.get("id")): value
            for _, value in (json_objects(recordings) if recordings else ())
            if not isinstance(value, Failure)
        }

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order."""
        for where, value in json_objects(self._path):
            if isinstance(value, Failure):
                yield value
                continue
            try:
                for span in self._spans(value):
                    yield _row(where, span)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
                identifier = str(value.get("id", ""))
                reason = f"{where}: not a valid cut or supervision ({_text(error)})"
                yield Failure(identifier, where, "corpus", reason)

    def _spans(self, value: Mapping[str, Any]) -> Iterator[_Span]:
        if "recording_id" in value:
            recording = self._recordings.get(value["recording_id"])
            if recording is None:
                raise ValueError(f"no recording {value['recording_id']!r}; add the manifest of the recordings")
            start = float(value["start"])
            yield _Span(value["id"], recording, value.get("channel"), start, start + float(value["duration"]), value)
            return
        if value.get("type", "MonoCut") not in ("MonoCut", "Cut", "MultiCut"):
            raise ValueError(f"a {value['type']} has several recordings")
        recording, supervisions = value.get("recording"), value.get("supervisions") or []
        if not recording:
            raise ValueError("the cut has no recording")
        begin, channel = float(value["start"]), value.get("channel")
        if len(supervisions) <= 1:
            end = begin + float(value["duration"])
            yield _Span(value["id"], recording, channel, begin, end, supervisions[0] if supervisions else {})
            return
        for supervision in supervisions:
            start = begin + float(supervision["start"])
            end = start + float(supervision["duration"])
            yield _Span(supervision["id"], recording, channel, start, end, supervision)


def _row(where: str, span: _Span) -> Row | Failure:
    recording = span.recording
    if recording.get("transforms"):
        reason = f"{where}: the recording has transforms ({len(recording['transforms'])}), which only lhotse applies"
        return Failure(str(span.id), where, "corpus", reason)
    channels = span.channel if isinstance(span.channel, list) else [span.channel]
    sources = [
        source
        for source in recording["sources"]
        if span.channel is None or set(channels) & set(source.get("channels", channels))
    ]
    if len(sources) != 1 or sources[0].get("type") != "file":
        kinds = ", ".join(str(source.get("type")) for source in sources) or "none"
        return Failure(str(span.id), where, "corpus", f"{where}: expected one file with the recording, found {kinds}")
    (source,) = sources
    supervision = span.supervision
    is_complete = span.start == 0 and abs(span.end - float(recording.get("duration", span.end))) < 1e-3
    values: dict[str, Any] = {
        "id": span.id,
        "text": supervision.get("text", ""),
        "speaker": supervision.get("speaker"),
        "language": supervision.get("language"),
        "gender": supervision.get("gender"),
        **(supervision.get("custom") or {}),
        "start": None if is_complete else span.start,
        "end": None if is_complete else span.end,
    }
    channel = None
    if len(channels) == 1 and isinstance(channels[0], int) and len(source.get("channels", [0])) > 1:
        channel = source["channels"].index(channels[0])
    return Row(where, values, str(source["source"]), channel=channel)


def _text(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)
