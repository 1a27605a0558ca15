"""FastPitch's batches of ten fields, as NVIDIA's ``fastpitch/data_function.py`` makes them, from a store.

Prepare the store with ``--preset fastpitch`` and ``--feature pitch:algorithm=pyin``.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.batches.alignment import beta_binomial_prior, interpolated_prior
from tts_prep.errors import ConfigurationError
from tts_prep.loader.batching.padding import pad_sequences, pad_spectrograms
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.recipes.accepted import FASTPITCH, ChecksStores, Settings, StoreCheck


class TTSCollate(ChecksStores):
    """Batch utterances of a store with pitch, the longest text first, in arrays.

    FastPitch's ``batch_to_gpu`` needs the tensors of ``tts_prep.loader.DataLoader(…, output="torch")``. Texts of equal
    length keep their order, which FastPitch leaves open.

    Args:
        pitch_mean, pitch_std: mean and standard deviation for normalizing voiced pitch, Hz; None does not normalize.
            The defaults are FastPitch's values for LJ Speech. Unvoiced frames stay 0.
        prior: ``"interpolated"``, FastPitch's default, or ``"exact"``.
        speakers: include speaker codes; False puts None in their place.
        settings: ``"preset"`` requires stores with all settings of the preset ``fastpitch``; ``"any"`` accepts every
            store.
    """

    def __init__(
        self,
        pitch_mean: float | None = 214.72203,
        pitch_std: float | None = 65.72038,
        prior: Literal["interpolated", "exact"] = "interpolated",
        speakers: bool = False,
        *,
        settings: Settings = "preset",
    ) -> None:
        if prior not in ("interpolated", "exact"):
            raise ConfigurationError(f"prior: expected 'interpolated' or 'exact', found {prior!r}")
        if (pitch_mean is None) != (pitch_std is None):
            raise ConfigurationError("pitch_mean, pitch_std: expected both or neither")
        self.pitch_mean, self.pitch_std = pitch_mean, pitch_std
        self._prior = beta_binomial_prior if prior == "exact" else interpolated_prior
        self.speakers = speakers
        self._check = StoreCheck(FASTPITCH, settings)

    def __call__(self, utterances: UtteranceDataset | Sequence[Utterance]) -> tuple[Any, ...]:
        """Return the ten fields of a batch of B utterances.

        ``(text [B, L] int64, input_lengths [B], mel [B, n_mels, T] float32, output_lengths [B], len_x [B] float32,
        pitch [B, 1, T] float32, energy [B, T] float32, speaker [B] or None, attn_prior [B, T, L] float32, ids)``. As in
        FastPitch, ``len_x`` has the text lengths in the order of the examples; all other fields are sorted by length.

        Raises:
            ConfigurationError: the store has no pitch, or other settings.
        """
        examples = list(utterances)
        self._check(examples)
        lengths = np.array([len(utterance.phonemes) for utterance in examples], np.int64)
        order = np.argsort(-lengths, kind="stable")
        ordered = [examples[position] for position in order]
        mels = [np.transpose(utterance.mel) for utterance in ordered]
        n_frames = max(mel.shape[1] for mel in mels)
        pitch = np.zeros((len(ordered), 1, n_frames), np.float32)
        energy = np.zeros((len(ordered), n_frames), np.float32)
        prior = np.zeros((len(ordered), n_frames, int(lengths.max())), np.float32)
        for row, utterance in enumerate(ordered):
            n = len(utterance.mel)
            pitch[row, 0, :n] = self._pitch(utterance.arrays["pitch"])
            energy[row, :n] = np.linalg.norm(np.asarray(utterance.mel, np.float32), axis=1)
            prior[row, :n, : len(utterance.phonemes)] = self._prior(len(utterance.phonemes), n)
        return (
            pad_sequences([utterance.phonemes for utterance in ordered], 0, np.int64)[0],
            lengths[order],
            pad_spectrograms(mels)[0],
            np.array([mel.shape[1] for mel in mels], np.int64),
            lengths.astype(np.float32),
            pitch,
            energy,
            np.array([utterance.speaker_code for utterance in ordered], np.int64) if self.speakers else None,
            prior,
            [utterance.id for utterance in ordered],
        )

    def _pitch(self, pitch: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        if self.pitch_mean is None or self.pitch_std is None:
            return pitch
        normalized = (pitch - np.float32(self.pitch_mean)) / np.float32(self.pitch_std)
        return np.where(pitch == 0, np.float32(0), normalized)
