r"""FastSpeech 2's dataset and batches of twelve fields, as in ming024/FastSpeech2; and FastPitch's batches of ten.

Prepare the store with the preset ``fastspeech2``, which includes ming024's ``prepare_align`` and changes nothing in
recordings that it wrote, and with pitch, energy and durations, which the store aligns itself::

    tts-prep ljspeech … --preset fastspeech2 --frontend arpabet --symbols fastspeech2 \
      --feature durations --feature pitch:unvoiced=interpolated --feature energy

or which are those of TextGrids, as in ming024's recipe::

    tts-prep filelist … --preset fastspeech2 --frontend phonemes --symbols fastspeech2 --alignments TextGrid \
      --feature durations:phonemes=alignment,silences=cut,surplus=cut \
      --feature pitch:unvoiced=interpolated --feature energy
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.batches.alignment import average_by_duration, beta_binomial_prior, interpolated_prior
from tts_prep.errors import ConfigurationError
from tts_prep.loader.batching.padding import pad_sequences, pad_spectrograms
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.recipes.accepted import FASTPITCH, FASTSPEECH2, ChecksStores, Settings, StoreCheck, check_store
from tts_prep.recipes.stores import StoreExamples, dataset_of

Level = Literal["phoneme_level", "frame_level"]


class FastSpeech2Dataset(StoreExamples):
    """Utterances as dictionaries.

    The keys are ``id``, ``speaker``, ``text``, ``raw_text``, ``mel``, ``pitch``, ``energy`` and ``duration``.

    Pitch and energy are means per phoneme, or values per frame, normalized by the mean and standard deviation over the
    dataset. These statistics exclude values more than 1.5 interquartile ranges beyond the quartiles of their utterance,
    and, as in ming024's code, all values of an utterance whose quartiles are equal. If the remaining values are equal,
    the standard deviation is 1, as in scikit-learn's ``StandardScaler``.

    Args:
        store: a store, a selection of one, or a chain of several.
        batch_size: utterances per batch.
        sort: sort the utterances of a group of batches by text length, the longest first.
        drop_last: drop the utterances of a group that do not fill a batch.
        pitch_feature, energy_feature: ``"phoneme_level"`` or ``"frame_level"``.
        pitch_normalization, energy_normalization: False keeps Hz and norms.
        statistics: ``{"pitch": [min, max, mean, std], "energy": […]}``, as in ming024's ``stats.json``; for validation,
            those of the training set. None computes them from this dataset.
        settings: ``"preset"`` requires a store with all settings of the preset ``fastspeech2`` and the symbols of
            ming024's code; ``"any"`` accepts every store.

    Raises:
        ConfigurationError: the store lacks an array or has other settings; or, on first use, no values remain for the
            statistics.
    """

    def __init__(
        self,
        store: Any,
        batch_size: int = 16,
        sort: bool = False,
        drop_last: bool = False,
        *,
        pitch_feature: Level = "phoneme_level",
        energy_feature: Level = "phoneme_level",
        pitch_normalization: bool = True,
        energy_normalization: bool = True,
        statistics: Mapping[str, Sequence[float]] | None = None,
        settings: Settings = "preset",
    ) -> None:
        self.store = dataset_of(store)
        for one in self.stores():
            check_store(FASTSPEECH2, one, settings=settings)
        self.batch_size, self.sort, self.drop_last = batch_size, sort, drop_last
        self._levels = {"pitch": pitch_feature, "energy": energy_feature}
        self._normalized = {"pitch": pitch_normalization, "energy": energy_normalization}
        self._statistics = statistics

    def _fingerprint_settings(self) -> dict[str, Any]:
        given = self._statistics and {name: list(map(float, values)) for name, values in self._statistics.items()}
        return {"levels": self._levels, "normalized": self._normalized, "statistics": given}

    def get_example(self, position: int) -> dict[str, Any]:
        """Return the example at a position."""
        utterance = self.store[position]
        assert isinstance(utterance, Utterance)
        values: dict[str, npt.NDArray[Any]] = {name: self._values(utterance, name) for name in ("pitch", "energy")}
        for name in values:
            _, _, mean, std = self.statistics[name]
            values[name] = (values[name] - mean) / std
        # ming024's to_device converts pitch to float32, but not energy, which preprocess.py saves as float32.
        values["energy"] = values["energy"].astype(np.float32)
        return {
            "id": utterance.id,
            "speaker": utterance.speaker_code,
            "text": utterance.phonemes.astype(np.int64),
            "raw_text": utterance.text,
            "mel": utterance.mel,
            **values,
            "duration": utterance.arrays["durations"].astype(np.int64),
        }

    @cached_property
    def statistics(self) -> Mapping[str, Sequence[float]]:
        """For ``pitch`` and ``energy``: minimum and maximum after normalization, mean and standard deviation before."""
        if self._statistics is not None:
            return self._statistics
        return {name: self._statistics_of(name) for name in ("pitch", "energy")}

    def collate_fn(self, data: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
        """Return the batches of a group of examples, each with twelve fields.

        A batch is ``(ids, raw_texts, speakers [B], texts [B, L], text_lens [B], L, mels [B, T, n_mels], mel_lens [B],
        T, pitches, energies, durations [B, L])``. Mels and energies are float32, pitches float64, texts and durations
        int64. Padding is 0.
        """
        size = len(data)
        lengths = np.array([len(example["text"]) for example in data])
        order = np.argsort(-lengths) if self.sort else np.arange(size)
        full = size - size % self.batch_size
        groups = order[:full].reshape(-1, self.batch_size).tolist()
        if not self.drop_last and full < size:
            groups.append(order[full:].tolist())
        return [_batch([data[position] for position in group]) for group in groups]

    def _values(self, utterance: Utterance, name: str) -> npt.NDArray[np.float64]:
        if self._levels[name] == "phoneme_level":
            return average_by_duration(utterance.arrays[name], utterance.arrays["durations"])
        return np.asarray(utterance.arrays[name], np.float64)

    def _statistics_of(self, name: str) -> list[float]:
        values = [self._values(utterance, name) for utterance in self.store]
        mean, std = 0.0, 1.0
        if self._normalized[name]:
            kept = np.concatenate([without_outliers(of_utterance) for of_utterance in values])
            if not len(kept):
                raise ConfigurationError(
                    f"{self.store}: {name} cannot be normalized: in every utterance, the quartiles of its values "
                    f"are equal; pass {name}_normalization=False or statistics"
                )
            mean, std = float(kept.mean()), float(kept.std()) if kept.min() < kept.max() else 1.0
        low, high = min(row.min() for row in values), max(row.max() for row in values)
        return [(low - mean) / std, (high - mean) / std, mean, std]


def _batch(examples: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    columns = {name: [example[name] for example in examples] for name in examples[0]}
    text_lengths = np.array([len(text) for text in columns["text"]])
    mel_lengths = np.array([len(mel) for mel in columns["mel"]])
    return (
        columns["id"],
        columns["raw_text"],
        np.array(columns["speaker"]),
        _padded(columns["text"]),
        text_lengths,
        max(text_lengths),
        _padded(columns["mel"]),
        mel_lengths,
        max(mel_lengths),
        *(_padded(columns[name]) for name in ("pitch", "energy", "duration")),
    )


def _padded(rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    batch = np.zeros((len(rows), max(len(row) for row in rows), *rows[0].shape[1:]), rows[0].dtype)
    for target, row in zip(batch, rows, strict=True):
        target[: len(row)] = row
    return batch


def without_outliers(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the values within 1.5 interquartile ranges of the quartiles, as in ming024/FastSpeech2.

    Args:
        values: [n], at least one.
    """
    array: npt.NDArray[Any] = np.asarray(values)
    low, high = np.percentile(array, [25, 75])
    reach = 1.5 * (high - low)
    kept: npt.NDArray[Any] = array[(array > low - reach) & (array < high + reach)]
    return kept


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
