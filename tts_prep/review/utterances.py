"""What the page shows of one utterance: its texts and arrays on one time axis, and the utterances that resemble it."""

import math
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.acoustics.mels import Mels
from tts_prep.checks.catalogue import MEASURE
from tts_prep.checks.duplicates import fingerprints
from tts_prep.corrections.records import read_corrections
from tts_prep.errors import TtsPrepError
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.pictures.clip import Clip, clip_of
from tts_prep.pictures.drawing import mel_levels
from tts_prep.quantities import number_text
from tts_prep.review.table import Table

_MAX_FRAMES: Final = 12_000
_MAX_PHONES: Final = 2_000
_MAX_TEXT: Final = 20_000
_MAX_CELL: Final = 400
_COMPARED: Final = 300
"""The number of utterances of the most similar duration that are compared with one; reading more mels takes long."""

_NEIGHBOURS: Final = 5
_MAX_WORDS: Final = 500


def of_row(table: Table, row: int) -> dict[str, Any]:
    """Return all that the page shows of an utterance at once, as JSON-compatible values."""
    utterance = table.dataset[row]
    clip = clip_of(utterance)
    decision = table.decisions.get(utterance.id)
    return {
        "row": row,
        "id": clip.id[:_MAX_TEXT],
        "speaker": clip.speaker[:_MAX_TEXT],
        "language": clip.language[:40],
        "split": str(utterance.meta.get("split", ""))[:_MAX_TEXT],
        "text": clip.text[:_MAX_TEXT],
        "phonemes": clip.phoneme_text[:_MAX_TEXT],
        "seconds": clip.seconds,
        "reasons": list(_reasons(table, row)),
        "cells": cells(table, np.array([row]), [column.key for column in table.columns])[0],
        "decision": asdict(decision),
        **_axis(clip),
    }


class Places:
    """Where the sounds of a store are in the recordings of its corpus, as regions of decisions are."""

    def __init__(self, dataset: UtteranceDataset) -> None:
        self._dataset, self._manifest = dataset, read_manifest(dataset.path)
        corrections = read_corrections(dataset.path) if self._manifest.corrections else ()
        # Of rows that are cut more than once, the last correction has the region of a part.
        self._starts = {uid: start for one in corrections for uid, (start, _) in one.placed.items()}
        self._merged = {one.id for one in corrections if one.merge}

    def of(self, row: int, source: str) -> dict[str, Any]:
        """Return ``offset``, what is added to a time of a sound, and ``begin`` and ``end``, in seconds; or a ``fault``.

        Args:
            source: that of the `Sound`.
        """
        utterance = self._dataset[row]
        if utterance.id in self._merged:
            return {"fault": f"{utterance.id} was merged; take that back by g, and make the store again before"}
        try:
            from tts_prep.preprocess.audio.cleaning import TRIMMED_START
            from tts_prep.preprocess.audio.framing import zeros_before
            from tts_prep.preprocess.configuration.records import Configuration

            config = Configuration.from_dict(self._dataset.path, self._manifest.configuration)
        except (TtsPrepError, ModuleNotFoundError) as error:
            return {"fault": f"not possible here: {error}"[:300]}
        if config.alignments is not None:
            return {"fault": "alignments cut the recordings of this store"}
        trimmed = float(utterance.meta[TRIMMED_START]) if config.cleaning.trims else 0.0
        begin, rate = self._starts.get(utterance.id, 0.0) + trimmed, config.mel.sample_rate
        zeros = zeros_before(round(utterance.seconds * rate), config.mel) if source == "store" else 0
        return {"offset": begin - zeros / rate, "begin": begin, "end": begin + utterance.seconds}


def words(text: str, other: str) -> list[tuple[bool, str, str]]:
    """Return the words of two texts in groups: whether they are the same, but for case and punctuation, and both."""
    one, two = (value.split()[:_MAX_WORDS] for value in (text, other))
    plain, heard = ([re.sub(r"[\W_]", "", word).casefold() or word for word in part] for part in (one, two))
    groups = SequenceMatcher(None, plain, heard, autojunk=False).get_opcodes()
    return [(kind == "equal", " ".join(one[a:b]), " ".join(two[c:d])) for kind, a, b, c, d in groups]


def _axis(clip: Clip) -> dict[str, Any]:
    """Return what is drawn over time."""
    phones = [phone for phone in clip.phones if phone.end > phone.start][:_MAX_PHONES]
    pitch = clip.pitch[:_MAX_FRAMES] if clip.pitch is not None else None
    return {
        "hop": clip.hop,
        "start": clip.first_edge,
        "frames": min(len(clip.mel), _MAX_FRAMES),
        "mels": clip.mel.shape[1],
        "marks": [[hertz, place] for hertz, place in clip.mel_axis.labels(4)] if clip.mel_axis else [],
        "phones": [[phone.symbol[:12], round(phone.start, 5), round(phone.end, 5)] for phone in phones],
        "pitch": None if pitch is None else [round(value, 1) if math.isfinite(value) else None for value in pitch],
    }


def mel_bytes(dataset: UtteranceDataset, row: int) -> bytes:
    """Return the colours of a mel, one byte each: frame after frame, from the lowest bin upwards."""
    clip = clip_of(dataset[row])
    return mel_levels(np.asarray(clip.mel[:_MAX_FRAMES], np.float32), *clip.mel_range).tobytes()


def cells(table: Table, rows: npt.NDArray[np.int64], keys: Iterable[str]) -> list[dict[str, Any]]:
    """Return the values of columns in rows: numbers, texts, or None for missing numbers."""
    found: list[dict[str, Any]] = [{} for _ in range(len(rows))]
    for key in keys:
        values = table.values(key)
        for cell, row in zip(found, rows.tolist(), strict=True):
            cell[key] = _plain(values[row])
    return found


def _plain(value: Any) -> str | float | None:
    if isinstance(value, str):
        return value[:_MAX_CELL]
    if math.isfinite(value):
        return float(value)
    return None if math.isnan(value) else number_text(float(value))


def _reasons(table: Table, row: int) -> Iterator[dict[str, Any]]:
    """Yield why an utterance is suspect, with the utterance that it duplicates."""
    suspects = table.suspects
    for threshold in suspects.thresholds if suspects else ():
        assert suspects
        if not suspects.flagged[threshold.reason][row]:
            continue
        measure = MEASURE[threshold.measure]
        value = float(suspects.measures.columns[threshold.measure][row])
        partner = suspects.partner(threshold.reason, row)
        yield {
            "reason": threshold.reason,
            "why": threshold.why,
            "value": "" if partner is not None else f"{measure.phrase} {number_text(value)}{measure.unit_behind}",
            "partner": partner,
            "partner_id": None if partner is None else table.dataset.id[partner],
        }


def neighbours(table: Table, row: int) -> list[dict[str, Any]]:
    """Return the duplicates of an utterance, and the most similar ones of about the same duration."""
    dataset = table.dataset
    kinds: dict[int, str] = {}
    for partner, kind in _duplicates(table, row):
        kinds.setdefault(partner, kind)
    for other, similarity in _similar(dataset, row):
        kinds.setdefault(other, f"correlation of mels {number_text(similarity)}")
    return [
        {
            "row": other,
            "id": dataset.id[other][:_MAX_TEXT],
            "speaker": dataset.speaker[other],
            "text": dataset.text[other][:400],
            "seconds": float(dataset.seconds[other]),
            "kind": kind,
        }
        for other, kind in kinds.items()
        if other != row
    ]


def _duplicates(table: Table, row: int) -> Iterator[tuple[int, str]]:
    """Yield what an utterance duplicates, and what duplicates it."""
    if table.suspects is None:
        return
    partners = table.suspects.measures.partners
    names = {"audio_copies": "the same samples", "text_copies": "the same text by the same speaker"}
    for measure, name in names.items():
        rows = partners.get(measure)
        if rows is not None:
            first = int(rows[row]) if rows[row] >= 0 else row
            same = [first, *np.flatnonzero(rows == first)[:_NEIGHBOURS].tolist()]
            yield from ((other, name) for other in same)


def _similar(dataset: UtteranceDataset, row: int) -> list[tuple[int, float]]:
    """Return the utterances whose mels correlate the most, among those of the most similar durations."""
    seconds = np.asarray(dataset.seconds, np.float64)
    differences = np.abs(seconds - seconds[row])
    n = min(_COMPARED + 1, len(seconds))
    near = np.argpartition(differences, n - 1)[:n]
    rows = np.concatenate(([row], near[near != row]))
    vectors = fingerprints(Mels.of(dataset[rows].views("mel"), dataset.n_mels))
    correlations = vectors[1:] @ vectors[0]
    best = np.argsort(-correlations, kind="stable")[:_NEIGHBOURS]
    return [(int(rows[1 + i]), float(correlations[i])) for i in best.tolist()]


class StoreReader:
    """Reads texts and words as the store's frontend does, if it can be used here."""

    def __init__(self, dataset: UtteranceDataset) -> None:
        self._store = dataset.path
        self._lock = threading.Lock()
        self._read_cached = lru_cache(maxsize=64)(self._read)

    def normalized(self, text: str, language: str) -> tuple[str, str]:
        """Return the normalized text and an empty string, or an empty string and why there is none."""
        with self._lock:
            return self._read_cached(text, language, "")

    def dictionary_line(self, word: str, language: str) -> tuple[str, str]:
        """Return the line of ``--lexicon`` with the phones of a word, and an empty string, or as `normalized`."""
        with self._lock:
            return self._read_cached(word, language, "line")

    def _read(self, text: str, language: str, door: str) -> tuple[str, str]:
        try:
            from tts_prep.preprocess.configuration.records import Configuration
            from tts_prep.preprocess.make.phonemizing import frontend_of

            config = Configuration.from_dict(self._store, read_manifest(self._store).configuration).text
            if door:
                row = doors.row("words", door)
                line = row.load()(frontend_of(config), text, language or config.language) if row else ""
                return line, "" if row else "this installation has no pronunciation dictionaries"
            if not config.normalize:
                return text, ""
            return frontend_of(config).normalize(text, language or None), ""
        except (TtsPrepError, ModuleNotFoundError) as error:
            return "", f"not shown here: {error}"[:300]
        except Exception as error:
            # A frontend may be that of another package, and the text is from outside.
            return "", f"the frontend fails on it ({type(error).__name__})"
