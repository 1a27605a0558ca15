"""The measures of utterances, each one record: what it is, how it is computed, and when it is suspect."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from tts_prep.checks.findings import Findings, Floats
from tts_prep.checks.mismatch import LEAST_UTTERANCES
from tts_prep.checks.transcripts import LEAST_SAMPLE, alignment_deviations
from tts_prep.checks.voices import LEAST_IN_STORE
from tts_prep.checks.waveforms import Waveform
from tts_prep.errors import ConfigurationError

VERSION: Final = 3
"""The version of the definitions. Increase it when one of them changes: measures in an index are computed again."""


@dataclass(frozen=True)
class Threshold:
    """One reason to suspect an utterance.

    Attributes:
        reason: the name of the reason, as in the option ``--threshold``.
        above: whether values above the limit are suspect. Otherwise, values below it are.
        limit: the limit in the unit of the measure.
        why: the effect of such an utterance on training, or its cause.
        source: the source of the limit.
        measure: the name of the measure, which `Measure` fills in.
    """

    reason: str
    above: bool
    limit: float
    why: str
    source: str
    measure: str = ""


@dataclass(frozen=True)
class Measure:
    """One measure.

    Attributes:
        name: the name in files and options.
        unit: the unit.
        of: the argument of ``compute``: ``waveform`` (a `Waveform`; missing in a store without waveforms), ``sound`` (a
            `Waveform`, or a `MelSound` in such a store), both of which return the number of one utterance; ``store``
            (`Findings`) or ``dataset`` (an `UtteranceDataset`, whose index has the values), which return [n] numbers.
        compute: computes the measure; NaN is a missing value.
        meaning: one line for a page.
        definition: the definition in ``docs/check.md``, if ``meaning`` is not all there is to say.
        label: the displayed name; by default, the name with spaces.
        column: the column of the index; by default, the name. An empty string if the index has the values anyway.
        copy_column: the column of the index with the row of the earlier utterance, for measures of duplicates.
        by_speaker: whether a mean says something about a speaker.
        needs: what a store must have besides mels: ``waveform`` (all measures of waveforms need it) or ``phonemes``.
        least: the fewest utterances of a store in which it can be measured.
        thresholds: the thresholds beyond which an utterance is suspect.
    """

    name: str
    unit: str
    of: Literal["waveform", "sound", "store", "dataset"]
    compute: Callable[[Any], Any]
    meaning: str
    definition: str = ""
    label: str = ""
    column: str | None = None
    copy_column: str = ""
    by_speaker: bool = False
    needs: Literal["", "waveform", "phonemes"] = ""
    least: int = 0
    thresholds: tuple[Threshold, ...] = ()

    def __post_init__(self) -> None:
        filled = {
            "label": self.label or self.name.replace("_", " ").capitalize(),
            "column": self.name if self.column is None else self.column,
            "needs": "waveform" if self.of == "waveform" else self.needs,
            "thresholds": tuple(replace(threshold, measure=self.name) for threshold in self.thresholds),
        }
        for name, value in filled.items():
            object.__setattr__(self, name, value)

    @property
    def phrase(self) -> str:
        """The label inside a sentence."""
        return in_sentence(self.label)

    @property
    def unit_behind(self) -> str:
        """The unit after the label and a value, with a space before; empty if the label names it."""
        return "" if f" {self.unit} " in f" {self.phrase} " else f" {self.unit}"


def in_sentence(label: str) -> str:
    """Return a label in lower case; abbreviations keep their capitals."""
    return label if label.isupper() else label[0].lower() + label[1:]


def _share(values: Floats) -> Floats:
    """Divide bandwidths by their 90th percentile."""
    known = values[np.isfinite(values)]
    usual = float(np.percentile(known, 90)) if len(known) else 0.0
    return values / usual if usual > 0 else np.full(len(values), np.nan)


def _phones(found: Findings) -> Floats:
    return found.phones if found.has_phonemes else np.full(len(found.phones), np.nan)


def _phone_rate(found: Findings) -> Floats:
    rates: Floats = np.divide(
        _phones(found), found.seconds, out=np.full(len(found.phones), np.nan), where=found.seconds > 0
    )
    return rates


MEASURES: Final = (
    Measure(
        "seconds",
        "s",
        "dataset",
        lambda dataset: np.array(dataset.seconds, np.float64),
        "",
        "Duration of the audio from which the mel was computed.",
        label="Length",
        column="",
    ),
    Measure(
        "phones",
        "phones",
        "store",
        _phones,
        "Symbols without spaces, stress, length marks and punctuation.",
        "Symbols that contain a letter. Stress, length marks, tones, spaces, punctuation and special tokens are not "
        "counted; a diphthong of two symbols counts as two. In a vocabulary of X-SAMPA, vowels without a letter such "
        "as `@` and `3:` are counted, too.",
        column="n_phones",
    ),
    Measure(
        "phone_rate",
        "phones/s",
        "store",
        _phone_rate,
        "Phones per second of the recording, with its silences.",
        "`phones / seconds`.",
        label="Speaking rate",
        column="phones_per_second",
        needs="phonemes",
        thresholds=(
            Threshold(
                "too-fast",
                True,
                25.0,
                "Nobody speaks so many phones per second: the recording is cut off, or the text belongs to another "
                "recording.",
                "chosen: 20 clips of LJ Speech have 13.1 phones/s at most",
            ),
            Threshold(
                "too-slow",
                False,
                4.0,
                "Speech has more phones per second: words are missing in the text.",
                "chosen: 20 clips of LJ Speech have 9.0 phones/s at least",
            ),
        ),
    ),
    Measure(
        "loudness",
        "LUFS",
        "waveform",
        Waveform.loudness,
        "Integrated loudness (ITU-R BS.1770).",
        'Integrated loudness of one channel by ITU-R BS.1770-5, as pyloudnorm with `filter_class="DeMan"`; its default '
        "filters deviate from the Recommendation's by 0.1 dB at 22,050 Hz, 0.2 dB at 8,000 Hz. Not measured below "
        "0.4 s.",
        column="loudness_lufs",
        by_speaker=True,
    ),
    Measure(
        "snr",
        "dB",
        "waveform",
        Waveform.snr,
        "Signal-to-noise ratio, estimated by WADA-SNR; 100 is its maximum.",
        "Signal-to-noise ratio by WADA-SNR (Kim and Stern, Interspeech 2008), from the distribution of the samples; "
        "−20 to 100. It assumes speech with pauses and Gaussian noise, and is imprecise: clean clips of LibriTTS have "
        "−1 to 56. Above 40 dB, it hardly tells ratios apart, and 100 is the end of its table, which short sentences "
        "with long pauses and recordings with zeros exceed.",
        label="SNR",
        column="snr_db",
        by_speaker=True,
        thresholds=(
            Threshold(
                "noisy",
                False,
                12.0,
                "A model learns the noise with the voice.",
                "chosen: 20 clips of LJ Speech have 18.6 dB at least; LibriTTS's clean subset has 20 dB (Zen et al., "
                "2019)",
            ),
        ),
    ),
    Measure(
        "pitch",
        "Hz",
        "store",
        lambda found: found.rows.pitches,
        "Mean of the voiced frames.",
        "Mean of the voiced frames, if the store has the arrays `pitch` and `voiced`.",
        column="pitch_hz",
        by_speaker=True,
    ),
    Measure(
        "peak",
        "dBFS",
        "waveform",
        Waveform.peak_level,
        "Largest absolute sample.",
        "Largest absolute sample. A preset may have scaled the recording.",
        column="peak_dbfs",
        by_speaker=True,
        thresholds=(
            Threshold(
                "silent",
                False,
                -60.0,
                "There is no speech: 60 dB below full scale is the noise of a room.",
                "convention: the default range of librosa.effects.trim, top_db=60",
            ),
        ),
    ),
    Measure(
        "clipped_samples",
        "samples",
        "waveform",
        Waveform.clipped_samples,
        "Samples of flat peaks: three or more in a row at the highest or lowest value.",
        "Samples in runs of at least three at the highest or lowest value of the recording, if that is above 5 % of "
        "full scale.",
        thresholds=(
            Threshold(
                "clipped",
                True,
                20,
                "Flat peaks distort; a model learns the distortion.",
                "measured: 20 clips of LJ Speech and 940 synthetic ones have none; clipping by 3 dB gives over 100",
            ),
        ),
    ),
    Measure(
        "saturation",
        "of the peaks",
        "waveform",
        Waveform.saturation,
        "Peaks of 10 ms within 1 dB of the highest, as a share of those of speech.",
        "Peaks of 10 ms within 1 dB of the highest, less twice the square root of their number, as a share of those "
        "within 20 dB; of the polarity with the larger share. Not measured below half a second of speech.",
        label="Peaks as high as the highest",
        thresholds=(
            Threshold(
                "saturated",
                True,
                0.05,
                "Many peaks are equally high: an amplifier or a limiter distorts them (soft clipping).",
                "measured: 31 clips of LJ Speech, LibriTTS and AISHELL-3 have 0.014 at most, 500 synthetic ones 0.036",
            ),
        ),
    ),
    Measure(
        "hum",
        "dB",
        "waveform",
        Waveform.hum,
        "Power of lines at multiples of 50 or 60 Hz in pauses, relative to the recording; −100 for none.",
        "Power of the lines at six multiples of 50 or of 60 Hz, in the quietest tenth of the frames of 0.2 s, relative "
        "to the power of the recording. A line is 6 dB above the middles between lines and constant; there are two at "
        "least; otherwise −100. Not measured below 0.6 s.",
        column="hum_db",
        by_speaker=True,
        thresholds=(
            Threshold(
                "hum",
                True,
                -45.0,
                "The hum of the mains is heard in pauses, and a vocoder learns it.",
                "chosen: hum 45 dB below the voice is barely audible in a quiet room; 31 real clips have none",
            ),
        ),
    ),
    Measure(
        "decay",
        "s",
        "store",
        lambda found: found.rows.decays,
        "Time in which the sound decays by 60 dB: 0.15 to 0.25 s without reverberation.",
        "See below. Time in which the sound decays by 60 dB, from the mel; missing where noise hides the decays.",
        label="Decay time",
        column="decay_seconds",
        by_speaker=True,
        thresholds=(
            Threshold(
                "reverberant",
                True,
                0.34,
                "The sound of the room lasts after the voice, as in a hall: a model learns a voice that is far away.",
                "measured: 31 clips of LJ Speech, LibriTTS and AISHELL-3 have 0.23 s at most; a reverberation time of "
                "0.5 s gives 0.35 s and more",
            ),
        ),
    ),
    Measure(
        "silence_start",
        "s",
        "sound",
        lambda sound: sound.silence.start,
        "Time before the first frame within 40 dB of the loudest.",
        "Duration before the first frame that is within 40 dB of the loudest, as `librosa.effects.trim(top_db=40)`.",
        label="Silence at the start",
        column="silence_start_seconds",
        thresholds=(
            Threshold(
                "silence-start",
                True,
                1.0,
                "Attention and duration models have no phone for it.",
                "chosen: 20 clips of LJ Speech have 0.08 s at most",
            ),
        ),
    ),
    Measure(
        "silence_end",
        "s",
        "sound",
        lambda sound: sound.silence.end,
        "Time after the last frame within 40 dB of the loudest.",
        "Duration after the last such frame.",
        label="Silence at the end",
        column="silence_end_seconds",
        thresholds=(
            Threshold(
                "silence-end",
                True,
                1.0,
                "Attention and duration models have no phone for it.",
                "chosen: 20 clips of LJ Speech have 0.08 s at most",
            ),
        ),
    ),
    Measure(
        "silence_inside",
        "s",
        "sound",
        lambda sound: sound.silence.inside,
        "Longest pause: frames more than 40 dB below the loudest.",
        "The longest run of frames below that level between these two frames.",
        column="silence_inside_seconds",
        thresholds=(
            Threshold(
                "silence-inside",
                True,
                1.5,
                "A long pause: two sentences with a gap between them, or a page that was turned.",
                "chosen: 20 clips of LJ Speech have pauses of 0.39 s at most, a clip of LibriTTS 0.70 s",
            ),
        ),
    ),
    Measure(
        "digital_silence",
        "s",
        "waveform",
        Waveform.digital_silence,
        "Longest run of samples that are exactly 0, except at the ends.",
        "The longest run of samples that are exactly 0, excluding both ends.",
        column="digital_silence_seconds",
        thresholds=(
            Threshold(
                "digital-silence",
                True,
                0.05,
                "A recorded room is never exactly 0: samples were lost or overwritten.",
                "chosen: half of the shortest gap planted in the evaluation",
            ),
        ),
    ),
    Measure(
        "level_start",
        "dB",
        "sound",
        lambda sound: sound.ends[0],
        "First 10 ms, or of a mel the first frame, relative to the loudest frame; −∞ for noise only.",
        "Power of the first 10 ms (of a mel: the first frame) minus twice that of the quietest frame, relative to the "
        "loudest frame. −∞ for noise only.",
        label="Level at the start",
        column="level_start_db",
        thresholds=(
            Threshold(
                "cut-start",
                True,
                -20.0,
                "The recording begins in the middle of a sound.",
                "measured: the loudest start of 20 clips of LJ Speech is at −27 dB",
            ),
        ),
    ),
    Measure(
        "level_end",
        "dB",
        "sound",
        lambda sound: sound.ends[1],
        "Last 10 ms, or of a mel the last frame, relative to the loudest frame; −∞ for noise only.",
        "The same for the last 10 ms.",
        label="Level at the end",
        column="level_end_db",
        thresholds=(
            Threshold(
                "cut-end",
                True,
                -25.0,
                "The recording ends in the middle of a sound.",
                "measured: the loudest end of 32 clips of LJ Speech is at −29 dB",
            ),
        ),
    ),
    Measure(
        "bandwidth",
        "Hz",
        "waveform",
        Waveform.bandwidth,
        "Highest frequency within 70 dB of the strongest; low in recordings that were upsampled.",
        "The highest frequency whose mean power is within 70 dB of the strongest one: Hann-windowed transforms of "
        "1,024 samples, every second one in recordings of 32 and more.",
        column="bandwidth_hz",
        by_speaker=True,
    ),
    Measure(
        "bandwidth_share",
        "of the store's",
        "store",
        lambda found: _share(found.of_sounds("bandwidth")),
        "Bandwidth, divided by the 90th percentile of the store.",
        "`bandwidth` divided by its 90th percentile. **W**",
        label="Relative bandwidth",
        needs="waveform",
        thresholds=(
            Threshold(
                "upsampled",
                False,
                0.85,
                "The recording was made at a lower sample rate than the others; its voice sounds muffled.",
                "the step from 24 to 22.05 kHz is 0.92, from 22.05 to 16 kHz 0.73",
            ),
        ),
    ),
    Measure(
        "audio_copies",
        "earlier copies",
        "store",
        lambda found: (found.copies["audio_copies"] >= 0).astype(float),
        "",
        "1 if an earlier utterance has the same samples (without waveforms: the same mel), by BLAKE2b.",
        label="Earlier copies of the audio",
        copy_column="audio_copy_of",
        thresholds=(
            Threshold(
                "audio-duplicate",
                True,
                0,
                "An earlier utterance has the same samples: one of the two texts is wrong, or the utterance counts "
                "twice.",
                "equal checksums",
            ),
        ),
    ),
    Measure(
        "similarity",
        "correlation",
        "store",
        lambda found: found.similar[0],
        "Highest correlation of the mel with the mel of an earlier utterance of similar length.",
        "The highest correlation with the mel of an earlier utterance whose duration is within 3 %, computed on means "
        "over 8 bands and 32 cells in time, minus the mean of each band.",
        label="Correlation with an earlier mel",
        copy_column="similar_to",
        thresholds=(
            Threshold(
                "near-duplicate",
                True,
                0.985,
                "An earlier utterance has nearly the same mel: the same recording at another level or in another "
                "coding.",
                "measured: copies at 6 dB less have 0.99 and more, 99 % of other clips below 0.95",
            ),
        ),
    ),
    Measure(
        "text_copies",
        "earlier copies",
        "store",
        lambda found: (found.copies["text_copies"] >= 0).astype(float),
        "",
        "1 if an earlier text of the same speaker has the same letters and digits.",
        label="Earlier copies of the text",
        copy_column="text_copy_of",
        thresholds=(
            Threshold(
                "text-duplicate",
                True,
                0,
                "The same speaker has said the same text earlier: it may be on both sides of a split, or be wrong.",
                "equal letters and digits",
            ),
        ),
    ),
    Measure(
        "voice",
        "of the usual",
        "store",
        lambda found: found.voice_distances[0],
        "Distance of spectrum and pitch from the mean of the speaker: 1 is usual.",
        "See below. Distance from the mean of the speaker, divided by the median of all distances.",
        label="Distance from the voice",
        column="voice_distance",
        least=LEAST_IN_STORE,
        thresholds=(
            Threshold(
                "other-voice",
                True,
                1.5,
                "The voice is not that of the speaker: the name is wrong, or somebody else speaks.",
                "measured: among clean clips, 1 in 20 is above, so another speaker must be nearer, too",
            ),
        ),
    ),
    Measure(
        "voice_of_another",
        "of the nearest",
        "store",
        lambda found: found.voice_distances[1],
        "Distance from the speaker, divided by that from the nearest other speaker; above 1, the other is nearer.",
        "The same distance, divided by that from the mean of the nearest other speaker.",
        label="Distance relative to others",
        least=LEAST_IN_STORE,
    ),
    Measure(
        "mismatch",
        "standard deviations",
        "store",
        lambda found: found.mismatches,
        "Residual of the length that phones and pauses predict for the speaker; positive if longer.",
        "See below.",
        label="Mismatch of length",
        needs="phonemes",
        least=LEAST_UTTERANCES,
        thresholds=(
            Threshold(
                "longer-than-text",
                True,
                3.0,
                "The recording is longer than this speaker takes for this text.",
                "three standard deviations, beyond which 0.27 % of normal residuals are",
            ),
            Threshold(
                "shorter-than-text",
                False,
                -3.0,
                "The recording is shorter than this speaker takes for this text.",
                "three standard deviations, beyond which 0.27 % of normal residuals are",
            ),
        ),
    ),
    Measure(
        "text_fit",
        "of the store's",
        "store",
        lambda found: found.text_fits[0],
        "How much better the recording fits its text than other texts: 1 is usual, 0 is no better.",
        "See below. About 1 for the correct text, about 0 for another one.",
        needs="phonemes",
        least=LEAST_SAMPLE,
        thresholds=(
            Threshold(
                "wrong-text",
                False,
                0.45,
                "Texts of other recordings fit the recording as well as its own: something else is said.",
                "measured: 940 synthetic clips have 0.63 at least, 32 of LJ Speech 0.75; exchanged texts 0.28 at most",
            ),
        ),
    ),
    Measure(
        "alignment",
        "standard deviations",
        "dataset",
        alignment_deviations,
        "How far the score of the aligner is from the median of the speaker; far below, the text does not fit.",
        "If the store has aligned itself: the column `alignment_score` minus its median over the utterances of the "
        "speaker, in standard deviations (1.4826 times the median absolute deviation, at least 0.4). −∞ if an "
        "utterance has too many phones to be aligned.",
        label="Fit of the alignment",
        column="",
        thresholds=(
            Threshold(
                "misaligned",
                False,
                -7.0,
                "The phones do not sound like those of the text: something else is said, or it is no speech.",
                "measured: right texts of LJ Speech are at -3.5 at least, exchanged ones at -7.8 at most; of "
                "synthetic voices at -6.7 and -20",
            ),
        ),
    ),
    Measure(
        "unspoken",
        "phones",
        "store",
        lambda found: found.rows.compared.unspoken,
        "Phones at the end of the text that are not heard in the recording.",
        "See below. Phones at the end of the text that are not spoken.",
        label="Unspoken phones",
        needs="phonemes",
        least=LEAST_SAMPLE,
        column="unspoken_phones",
        thresholds=(
            Threshold(
                "unspoken-end",
                True,
                1,
                "The end of the text is not spoken: the recording is cut off, or the text belongs to another "
                "recording.",
                "measured: 940 synthetic clips and 32 of LJ Speech have none; one phone may be slurred",
            ),
        ),
    ),
)
"""All measures, in the order of columns."""

MEASURE: Final[Mapping[str, Measure]] = {measure.name: measure for measure in MEASURES}
"""The measures by name."""

_ORDER = (
    *(
        "silent",
        "clipped",
        "saturated",
        "noisy",
        "hum",
        "reverberant",
        "silence-start",
        "silence-end",
        "silence-inside",
        "digital-silence",
    ),
    *("cut-start", "cut-end", "upsampled", "audio-duplicate", "near-duplicate", "text-duplicate", "other-voice"),
    *("too-fast", "too-slow", "longer-than-text", "shorter-than-text", "wrong-text", "misaligned", "unspoken-end"),
)
"""The reasons in the order of output: sounds, duplicates, texts. Others come last."""


def _place(threshold: Threshold) -> int:
    return _ORDER.index(threshold.reason) if threshold.reason in _ORDER else len(_ORDER)


THRESHOLDS: Final = tuple(sorted((threshold for m in MEASURES for threshold in m.thresholds), key=_place))
"""All reasons with their default limits, in the order of output."""


def unit_of(name: str) -> str:
    """Return the unit of a measure; empty for another column."""
    return MEASURE[name].unit if name in MEASURE else ""


def column_threshold(text: str) -> Threshold | None:
    """Return the threshold of a condition such as ``wer>0.1`` on any column of numbers; None if it is no condition."""
    found = re.fullmatch(r"\s*([a-z]\w*)\s*([<>])\s*([^<>\s]+)\s*", text)
    try:
        limit = float(found[3]) if found else math.nan
    except ValueError:
        return None
    if found is None or math.isnan(limit):
        return None
    reason = f"{found[1]}{found[2]}{limit:g}"
    return Threshold(reason, found[2] == ">", limit, "", "chosen by the user", found[1])


def thresholds(limits: Mapping[str, float] | None = None) -> tuple[Threshold, ...]:
    """Return all reasons to suspect an utterance, in the order of output.

    Example:
        >>> from tts_prep.checks import thresholds
        >>> [one for one in thresholds({"clipped": 100}) if one.reason == "clipped"][0].limit
        100

    Args:
        limits: other limits for some reasons, by name.

    Raises:
        ConfigurationError: a reason is unknown, or a limit is not a number.
    """
    limits = limits or {}
    reasons = [threshold.reason for threshold in THRESHOLDS]
    for reason, limit in limits.items():
        if reason not in reasons:
            hint = _of_measure(reason, limit) or f"there are {', '.join(reasons)}"
            raise ConfigurationError(f"threshold '{reason}': there is no such reason; {hint}")
        if math.isnan(limit):
            raise ConfigurationError(f"threshold '{reason}': expected a number, found nan")
    return tuple(replace(threshold, limit=limits.get(threshold.reason, threshold.limit)) for threshold in THRESHOLDS)


def _of_measure(name: str, limit: float) -> str:
    """Return how to give a limit of a measure, if a name is that of a measure instead of a reason."""
    found = [threshold for threshold in THRESHOLDS if threshold.measure == name]
    if not found:
        return ""
    ways = (f"{threshold.reason}={limit:g}" for threshold in found)
    return f"it is a measure: give {' or '.join(ways)}, or {name}{'>' if found[0].above else '<'}{limit:g}"
