"""Read the recording of an utterance, which can be an excerpt of a longer one, clean it, and cut it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tts_prep import doors
from tts_prep.errors import AudioError, CorpusChangedError
from tts_prep.preprocess.audio import framing
from tts_prep.preprocess.audio.cleaning import TRIMMED_END, TRIMMED_START, CleaningConfig, Cut, margin_samples
from tts_prep.preprocess.audio.config import MelConfig, ReadingConfig
from tts_prep.preprocess.audio.reading import read_samples, read_within
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.plan.shard_settings import ShardRecipe
from tts_prep.preprocess.source_utterance import SourceUtterance

if TYPE_CHECKING:
    from tts_prep.preprocess.features.feature import AlignedUtterance


def read_utterance(
    root: Path,
    utterance: SourceUtterance,
    sample_rate: int,
    config: ReadingConfig,
    remarks: list[str] | None = None,
    *,
    keeps_16_bits: bool = False,
    contents: list[str] | None = None,
) -> framing.Samples:
    """Read the recording of an utterance, or its excerpt.

    Args:
        remarks: a list to which remarks on the recording are added.
        keeps_16_bits, contents: see `read_samples`; for whole recordings only.

    Returns:
        [n_samples] float32, or int16.

    Raises:
        AudioError: the recording is unusable, ends before the utterance, or is silent there.
    """
    if utterance.then:
        parts: list[Any] = []
        for pause, piece in utterance.pieces:
            parts += (
                np.zeros(round(pause * sample_rate), np.float32),
                read_utterance(root, piece, sample_rate, config, remarks),
            )
        return np.concatenate(parts)
    # A Path would take as long as to open the file.
    path = os.path.join(root, utterance.audio)  # noqa: PTH118
    if utterance.channel is not None:
        config = replace(config, channel=utterance.channel)
    within = (utterance.start, utterance.end)
    known: dict[str, Any] = {"inside": utterance.inside, "remarks": remarks}
    try:
        if within == (0, None):
            return read_samples(path, sample_rate, config, **known, keeps_16_bits=keeps_16_bits, contents=contents)
        return read_within(Path(path), sample_rate, within, config, **known)
    except AudioError:
        # Unlike Path.exists, os.path.exists does not raise for names that are too long or contain NUL.
        if os.path.exists(path):  # noqa: PTH110
            raise
    raise AudioError(doors.asked("hints", "recording")(root, utterance.audio) or f"{utterance.audio}: no such file")


class CleanedRecording(NamedTuple):
    """A cleaned recording, from which the mel is computed.

    Attributes:
        waveform: [n_samples] float32, or int16.
        cut: the trimming, or None if the recording is not trimmed.
        aligned: the alignment, shifted by the cut, or None.
        columns: column of the index → value.
        remarks: remarks that a run counts.
    """

    waveform: framing.Samples
    cut: Cut | None
    aligned: AlignedUtterance | None
    columns: Mapping[str, float]
    remarks: tuple[str, ...]


def read_recording(
    utterance: SourceUtterance,
    recipe: ShardRecipe,
    *,
    may_keep_16_bits: bool = False,
    contents: list[str] | None = None,
) -> CleanedRecording:
    """Read the recording of an utterance and clean it; cut it by its alignment if alignments change shards.

    Args:
        may_keep_16_bits: leave 16-bit samples as int16 if the settings change none of them.
        contents: see `read_utterance`.

    Raises:
        AudioError: the recording is invalid, or nothing remains of it.
        AlignmentError: the alignment does not match it, or trimming removes phones.
    """
    config = recipe.config
    if not utterance.audio:
        raise AudioError(f"{utterance.where}: no recording")
    aligned = recipe.alignments.read(utterance) if recipe.alignments else None
    remarks: list[str] = []
    keeps = may_keep_16_bits and not aligned and keeps_16_bits(config.cleaning)
    root, rate, reading = recipe.root, config.mel.sample_rate, config.reading
    samples = read_utterance(root, utterance, rate, reading, remarks, keeps_16_bits=keeps, contents=contents)
    return cleaned(samples, config, utterance.audio, aligned, remarks)


def without_recording(utterance: SourceUtterance, config: Configuration) -> CleanedRecording:
    """Return what a row without a recording has instead: silence of its length, of which nothing is stored.

    Raises:
        AudioError: the store has mels or waveforms, or cleans recordings.
    """
    if config.mel.n_mels or config.store.waveform_dtype or not keeps_16_bits(config.cleaning):
        raise AudioError(
            f"{utterance.where}: no recording; a store of arrays alone is made with --mel none, and without waveforms "
            "and cleaning"
        )
    n_samples = round((utterance.end or 0.0) * config.mel.sample_rate)
    return CleanedRecording(np.broadcast_to(np.int16(0), n_samples), None, None, {}, ())


@lru_cache(maxsize=16)
def keeps_16_bits(cleaning: CleaningConfig) -> bool:
    """Return whether no step of cleaning changes samples, so that those of 16 bits can stay integers."""
    return cleaning == CleaningConfig()


def cleaned(
    samples: framing.Samples,
    config: Configuration,
    name: str,
    aligned: AlignedUtterance | None = None,
    remarks: Sequence[str] = (),
) -> CleanedRecording:
    """Clean a recording that was read, and cut it by its alignment if it has one.

    Args:
        name: the name of the recording, for messages.
        remarks: remarks on reading it.

    Raises:
        AudioError: nothing remains of it.
        AlignmentError: the alignment does not match it, or trimming removes phones.
    """
    cleaning, rate, hop_length = config.cleaning, config.mel.sample_rate, config.mel.hop_length
    cleans = not keeps_16_bits(cleaning)
    if not aligned and not cleans:
        return CleanedRecording(samples, None, None, {}, tuple(remarks))
    waveform, step = framing.as_float(samples), partial(doors.need, "cleaning")
    cut: Cut | None = None
    columns: dict[str, float] = {}
    found = [*remarks]
    try:
        if cleans:
            waveform = step("filter")(waveform, rate, cleaning)
        if cleaning.trims:
            cut = step("trim")(waveform, rate, cleaning)
            if margin_samples(rate, cleaning) >= len(waveform):
                found.append("the margin of trimming is as long as the recording, nothing is cut off")
            columns[TRIMMED_START] = cut.start / rate
            columns[TRIMMED_END] = (cut.n_samples - cut.stop) / rate
            waveform = waveform[cut.start : cut.stop]
        if aligned:
            aligned = aligned.within(cut, rate, hop_length) if cut else aligned
            waveform = aligned.cut(waveform, rate, hop_length)
        if cleans:
            level = step("level")(waveform, rate, cleaning)
            waveform, columns, found = level.waveform, {**columns, **level.columns}, [*found, *level.remarks]
    except AudioError as error:
        raise AudioError(f"{name}: {error}") from None
    return CleanedRecording(waveform, cut, aligned, columns, tuple(found))


def read_as(
    recipe: ShardRecipe, utterance: SourceUtterance, mel: MelConfig, reading: ReadingConfig
) -> framing.Waveform:
    """Return the waveform of which a store with other mel and reading settings would compute its mel.

    Raises:
        AudioError: the recording is invalid, or nothing remains of it.
        ConfigurationError: the settings contradict those of cleaning.
    """
    other = replace(recipe, config=replace(recipe.config, mel=mel, reading=reading))
    return framing.as_float(read_recording(utterance, other).waveform)


def read_again(recipe: ShardRecipe, utterance: SourceUtterance, n_frames: int) -> framing.Waveform:
    """Return the recording of an utterance whose mel is already stored, cut in the same way."""
    waveform = framing.as_float(read_recording(utterance, recipe).waveform)
    found = framing.n_frames(len(waveform), recipe.config.mel)
    if found < n_frames:
        raise CorpusChangedError(
            f"{recipe.root / utterance.audio}: has {found:,} frames, its stored mel has {n_frames:,}; use the "
            "recordings that the store was made from"
        )
    return waveform


def stored_cut(trimmed_start: float, trimmed_end: float, seconds: float, sample_rate: int) -> Cut:
    """Return the cut that is stored in the columns of an utterance."""
    start, kept, end = (round(value * sample_rate) for value in (trimmed_start, seconds, trimmed_end))
    return Cut(start, start + kept, start + kept + end)
