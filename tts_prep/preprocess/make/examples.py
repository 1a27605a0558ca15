"""Make the arrays and the index row of one utterance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AudioError
from tts_prep.format.records.remarks import Remarks
from tts_prep.format.statistics import MelStatistics
from tts_prep.preprocess.audio.framing import aligned_waveform, as_float, largest_sample, level_factor
from tts_prep.preprocess.audio.mel import Mel, mel_statistics
from tts_prep.preprocess.audio.reading import BEYOND_FULL_SCALE
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.make.phonemizing import Remark, phonemes_of
from tts_prep.preprocess.make.recordings import CleanedRecording, read_again, read_as, read_recording, without_recording
from tts_prep.preprocess.plan.shard_settings import ShardRecipe
from tts_prep.preprocess.source_utterance import SourceUtterance

if TYPE_CHECKING:
    from tts_prep.preprocess.features.feature import Feature, FeatureValues

_BLOCK = 1 << 16
_CLIPPED = "samples beyond full scale after decoding, resampling or filtering, clipped in the stored waveform"


class Example(NamedTuple):
    """One finished utterance.

    Attributes:
        arrays: its arrays.
        row: its index row without starts.
        statistics: the statistics of its mel.
        features: the values of each feature.
        key: the key of the planned row; see `tts_prep.preprocess.plan.shard_settings.ShardContents.row_key`.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    row: Mapping[str, Any]
    statistics: MelStatistics
    features: tuple[FeatureValues, ...] = ()
    key: bytes = b""


def make_example(
    utterance: SourceUtterance, recipe: ShardRecipe, remarks: Remarks, contents: list[str] | None = None
) -> Example:
    """Read an utterance, and compute everything that the store has of it.

    Args:
        remarks: remarks on the text and the recording are added to it.
        contents: see `read_recording`; a list to which those of a whole recording are added.

    Raises:
        UtteranceError: the row fails.
    """
    config = recipe.config
    # Read first where the alignment may give the phonemes: trimming decides which.
    recording = read_recording(utterance, recipe, contents=contents) if recipe.alignments else None
    remark = partial(remarks.add, identifier=utterance.id)
    labels = recording.aligned.phonemes if recording and recording.aligned else None
    phoneme_text, phonemes = phonemes_of(utterance, labels, config.text, remark)
    if utterance.audio:
        recording = recording or read_recording(utterance, recipe, may_keep_16_bits=True, contents=contents)
    else:
        recording = without_recording(utterance, config)
    for found in recording.remarks:
        remark("cleaning", found)
    known = _mel_and_energy(recording, recipe)
    mel = known["mel"]
    statistics = mel_statistics(mel)
    # A single such value would make the statistics of the store useless. It makes squared deviations so, too.
    if not math.isfinite(statistics.m2.sum()):
        raise AudioError(f"{utterance.audio}: its mel spectrogram has NaN or infinite values")
    spec = recipe.arrays["mel"]
    arrays = {"mel": stored_mel(mel, spec["dtype"], spec.get("offset", 0.0)), "phonemes": phonemes}
    if "waveform" in recipe.arrays:
        arrays["waveform"] = _stored_waveform(recording, config, recipe.arrays["waveform"]["dtype"], remark)
    columns = {"seconds": len(recording.waveform) / config.mel.sample_rate, **recording.columns}
    values: tuple[FeatureValues, ...] = ()
    if recipe.features:
        # Not loaded for most stores, which have none.
        from tts_prep.preprocess.features.feature import FeatureInput, computed, lengths_of

        # Without a recording, a feature of recordings fails.
        again = partial(read_again, recipe, utterance, 0)
        source = FeatureInput(
            id=utterance.id,
            speaker=utterance.speaker,
            text=utterance.text,
            phoneme_text=phoneme_text,
            phonemes=phonemes,
            n_frames=len(mel),
            extractor=recipe.extractor,
            read=partial(as_float, recording.waveform) if utterance.audio else again,
            known=known if utterance.audio else {"mel": mel},
            cut=recording.cut,
            read_again=partial(read_as, recipe, utterance),
            row=utterance,
        )
        lengths = lengths_of(arrays)
        values = tuple(computed(feature, source, lengths) for feature in recipe.features)
    return Example(arrays, row_of(utterance, phoneme_text, columns), statistics, values)


def row_of(utterance: SourceUtterance, phoneme_text: str, columns: Mapping[str, float]) -> dict[str, Any]:
    """Return the row of an utterance in the index, with what was measured of its recording."""
    text = {"id": utterance.id, "text": utterance.text, "phoneme_text": phoneme_text, "speaker": utterance.speaker}
    return {**text, **utterance.meta, **columns}


def needs_energy(features: Iterable[Feature]) -> bool:
    """Return whether a feature needs the energy of frames, which is computed in the same pass as the mel."""
    return any(getattr(feature, "needs_energy", False) for feature in features)


def _mel_and_energy(recording: CleanedRecording, recipe: ShardRecipe) -> dict[str, npt.NDArray[Any]]:
    """Return ``mel``, and ``energy`` if a feature needs it, computed in the same pass: the frames of its alignment."""
    if needs_energy(recipe.features):
        mel, energy = recipe.extractor.with_energy(recording.waveform)
        known: dict[str, npt.NDArray[Any]] = {"mel": mel, "energy": energy}
    else:
        known = {"mel": recipe.extractor(recording.waveform)}
    if recording.aligned is None:
        return known
    config = recipe.config.mel
    n_frames = recording.aligned.n_frames(config.sample_rate, config.hop_length, len(known["mel"]))
    return {name: values[:n_frames] for name, values in known.items()}


def stored_mel(mel: Mel, dtype: str, offset: float) -> npt.NDArray[Any]:
    """Return mel values in the stored dtype. At half precision they are centred in their range by ``offset``."""
    if dtype == "float32":
        return mel
    centred: npt.NDArray[Any] = mel - np.float32(offset)
    largest = float(np.abs(centred).max(initial=0))
    if largest > float(np.finfo(dtype).max):
        raise AudioError(f"mel values of up to {largest:g} do not fit into {dtype}; store the mel as float32")
    return centred.astype(dtype)


def _stored_waveform(
    recording: CleanedRecording, config: Configuration, dtype: str, remark: Remark
) -> npt.NDArray[Any]:
    """Return the waveform in the stored dtype, at the level of the recipe, aligned with the frames of the mel."""
    scale = np.float32(level_factor(recording.waveform, config.mel))
    aligned = aligned_waveform(recording.waveform, config.mel)
    if scale == 1 and aligned.dtype == dtype:
        return aligned
    peak = largest_sample(aligned) * float(scale)
    if dtype == "int16" and peak > 1:
        if BEYOND_FULL_SCALE in recording.remarks or config.cleaning.loudness is not None:
            raise AudioError(f"samples of up to {peak:.3f} do not fit into 16 bits, give --waveform float32")
        # Lossy decoders, resampling and high-pass filters overshoot; what writes files of 16 bits clips that.
        remark("cleaning", _CLIPPED)
    stored = np.empty(len(aligned), dtype)
    # In blocks: otherwise an hour of audio needs several temporary arrays of 300 MB.
    for first in range(0, len(aligned), _BLOCK):
        block = as_float(aligned[first : first + _BLOCK]) * scale
        if dtype == "int16":
            block *= np.float32(32768)
            np.clip(np.rint(block, out=block), -32768, 32767, out=block)
        stored[first : first + _BLOCK] = block
    return stored
