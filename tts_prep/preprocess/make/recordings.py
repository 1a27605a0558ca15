"""Read the recording of an utterance, clean it, and cut it with its alignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.cleaning.cleaner import adjust_level, filtered, margin_samples, trimming_cut
from tts_prep.preprocess.audio.cleaning.config import TRIMMED_END, TRIMMED_START, CleaningConfig
from tts_prep.preprocess.audio.cleaning.trimming import Cut
from tts_prep.preprocess.audio.config import MelConfig, ReadingConfig
from tts_prep.preprocess.audio.excerpt import read_utterance
from tts_prep.preprocess.audio.framing import Samples, Waveform, as_float
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.features.alignments.aligned_utterances import AlignedUtterance
from tts_prep.preprocess.plan.shard_settings import ShardRecipe
from tts_prep.preprocess.source_utterance import SourceUtterance


@dataclass(frozen=True, eq=False)
class CleanedRecording:
    """A cleaned recording, from which the mel is computed.

    Attributes:
        waveform: [n_samples] float32, or int16.
        cut: the trimming, or None if the recording is not trimmed.
        aligned: the alignment, shifted by the cut, or None.
        columns: column of the index → value.
        remarks: remarks that a run counts.
    """

    waveform: Samples
    cut: Cut | None
    aligned: AlignedUtterance | None
    columns: Mapping[str, float]
    remarks: tuple[str, ...]


def read_recording(
    utterance: SourceUtterance, recipe: ShardRecipe, *, may_keep_16_bits: bool = False
) -> CleanedRecording:
    """Read the recording of an utterance and clean it; cut it by its alignment if alignments change shards.

    Args:
        may_keep_16_bits: leave 16-bit samples as int16 if the settings change none of them.

    Raises:
        AudioError: the recording is invalid, or nothing remains of it.
        AlignmentError: the alignment does not match it, or trimming removes phones.
    """
    config = recipe.config
    aligned = recipe.alignments.read(utterance) if recipe.alignments else None
    remarks: list[str] = []
    keeps = may_keep_16_bits and not aligned and keeps_16_bits(config.cleaning)
    rate = config.mel.sample_rate
    samples = read_utterance(recipe.root, utterance, rate, config.reading, remarks, keeps_16_bits=keeps)
    return cleaned(samples, config, utterance.audio, aligned, remarks)


def keeps_16_bits(cleaning: CleaningConfig) -> bool:
    """Return whether no step of cleaning changes samples, so that those of 16 bits can stay integers."""
    return cleaning == CleaningConfig()


def cleaned(
    samples: Samples,
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
    if not aligned and keeps_16_bits(cleaning):
        return CleanedRecording(samples, None, None, {}, tuple(remarks))
    waveform = as_float(samples)
    cut: Cut | None = None
    columns: dict[str, float] = {}
    found = [*remarks]
    try:
        waveform = filtered(waveform, rate, cleaning)
        if cleaning.trims:
            cut = trimming_cut(waveform, rate, cleaning)
            if margin_samples(rate, cleaning) >= len(waveform):
                found.append("the margin of trimming is as long as the recording, nothing is cut off")
            columns[TRIMMED_START] = cut.start / rate
            columns[TRIMMED_END] = (cut.n_samples - cut.stop) / rate
            waveform = waveform[cut.start : cut.stop]
        if aligned:
            aligned = aligned.within(cut, rate, hop_length) if cut else aligned
            waveform = aligned.cut(waveform, rate, hop_length)
        level = adjust_level(waveform, rate, cleaning)
    except AudioError as error:
        raise AudioError(f"{name}: {error}") from None
    return CleanedRecording(level.waveform, cut, aligned, {**columns, **level.columns}, (*found, *level.remarks))


def read_as(recipe: ShardRecipe, utterance: SourceUtterance, mel: MelConfig, reading: ReadingConfig) -> Waveform:
    """Return the waveform of which a store with other mel and reading settings would compute its mel.

    Raises:
        AudioError: the recording is invalid, or nothing remains of it.
        ConfigurationError: the settings contradict those of cleaning.
    """
    other = replace(recipe, config=replace(recipe.config, mel=mel, reading=reading))
    return as_float(read_recording(utterance, other).waveform)


def stored_cut(trimmed_start: float, trimmed_end: float, seconds: float, sample_rate: int) -> Cut:
    """Return the cut that is stored in the columns of an utterance."""
    start, kept, end = (round(value * sample_rate) for value in (trimmed_start, seconds, trimmed_end))
    return Cut(start, start + kept, start + kept + end)
