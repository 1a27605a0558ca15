"""The GigaSpeech corpus of English: audiobooks, podcasts and videos."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.option import Option
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance

_MARKS: Final = {"COMMA": ",", "PERIOD": ".", "QUESTIONMARK": "?", "EXCLAMATIONPOINT": "!"}
_TAG: Final = re.compile(r" ?<([A-Z]+)>")
_SUBSETS: Final = ("XS", "S", "M", "L", "XL", "DEV", "TEST")


def read_gigaspeech(root: Path, subset: str = "XL") -> Iterator[SourceUtterance | Failure]:
    """Yield the segments of ``GigaSpeech.json`` that belong to a subset.

    Texts are in capitals and become lower case, because frontends spell capitals; tags such as ``<COMMA>`` become
    punctuation. Segments without speech (``<SIL>``, ``<MUSIC>``, ``<NOISE>``, ``<OTHER>``) are left out.

    Args:
        root: the folder of ``GigaSpeech.json``.
        subset: one of XS, S, M, L, XL, DEV and TEST.

    Raises:
        CorpusError: there is no such file.
    """
    # Imported late, because help texts and worker processes do not read manifests.
    from tts_prep.corpora.manifests.json_arrays import json_array

    for where, recording in json_array(root / "GigaSpeech.json", "audios"):
        if isinstance(recording, Failure):
            yield recording
            continue
        segments = recording.get("segments")
        for segment in segments if isinstance(segments, list) else ():
            if not isinstance(segment, dict) or not isinstance(segment.get("subsets"), list):
                yield Failure("", where, "corpus", f"{where}: expected segments with 'subsets'")
            elif f"{{{subset}}}" in segment["subsets"] and (utterance := _utterance(recording, segment, where)):
                yield utterance


def _utterance(
    recording: Mapping[str, Any], segment: Mapping[str, Any], where: str
) -> SourceUtterance | Failure | None:
    """Return the utterance of a segment, or None if nobody speaks in it."""
    try:
        text, identifier, path = str(segment["text_tn"]), str(segment["sid"]), str(recording["path"])
        start, end = float(segment["begin_time"]), float(segment["end_time"])
        if not 0 <= start < end:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        return Failure("", where, "corpus", f"{where}: expected path, sid, text_tn, begin_time and end_time")
    spoken = _TAG.sub(lambda tag: _MARKS.get(tag[1], ""), text).strip().lower()
    if not spoken:
        return None
    speaker = str(segment.get("speaker") or "N/A")
    meta = {"source": str(recording.get("source", "")), "category": str(recording.get("category", ""))}
    return SourceUtterance(
        identifier,
        spoken,
        path,
        where,
        ANONYMOUS if speaker == "N/A" else speaker,
        meta,
        normalized=True,
        start=start,
        end=end,
    )


CORPUS = Corpus(
    "gigaspeech",
    read_gigaspeech,
    r"""Make STORE of a subset of the GigaSpeech corpus at CORPUS.

    CORPUS contains GigaSpeech.json and audio/. Segments of recordings are read. Capitals become lower case, and tags
    punctuation. Source and category become columns.

    \b
    Example:
      tts-prep gigaspeech GigaSpeech store --subset M
    """,
    options=(Option("subset", "Use this subset.", choices=_SUBSETS, default="XL"),),
    languages=("en-us",),
    layout=(("GigaSpeech.json",),),
)
