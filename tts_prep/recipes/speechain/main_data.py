"""The dataset of SpeeChain's published recipes: ``main_data`` names one file of ``id value`` lines for each field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.batches.epoch_draws import EpochDraws
from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.loader.batching.padding import pad_sequences, pad_spectrograms
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.recipes import kaldi_files
from tts_prep.recipes.speechain.configuration import check_paths
from tts_prep.recipes.stores import RandomExamples


@dataclass(frozen=True)
class Place:
    """Where an array is.

    Attributes:
        path: of a store, or of a .npy, .npz or .ark file.
        row: of the store; −1 for a file.
        key: of an array in a .npz file.
        is_waveform: whether it is the waveform of the row, and not the mel.
        offset: in a .ark file; −1 for others.
    """

    path: str
    row: int = -1
    key: str = ""
    is_waveform: bool = False
    offset: int = -1


class ArrayPlaces:
    """Reads files of ``id place`` lines, and the arrays there."""

    def __init__(self) -> None:
        self._stores: dict[str, UtteranceDataset] = {}

    def read(self, paths: Sequence[str]) -> dict[str, Place]:
        """Read files into one table. Relative places are relative to the file.

        Raises:
            ConfigurationError: a place is of another kind, two files contradict each other, or the row of a store has
                another id.
        """
        table: dict[str, Place] = {}
        for path in paths:
            for uid, value in kaldi_files.read_table(path).items():
                place = self._place(path, uid, value)
                if table.setdefault(uid, place) != place:
                    raise ConfigurationError(f"'{uid}' is in {path} and, with other data, in a file before it")
        return table

    def _place(self, path: str, uid: str, value: str) -> Place:
        base = Path(path).parent
        ark = kaldi_files.parse_ark_entry(value)
        if ark is not None:
            return Place(str(kaldi_files.ark_path(base, ark[0])), offset=ark[1])
        plain = value.removesuffix(kaldi_files.WAVEFORM)
        entry = kaldi_files.parse_store_entry(plain)
        file, _, key = value.rpartition(":") if ".npz:" in value else (value, "", "")
        if entry is not None and not file.endswith(".npz"):
            name, row = str(base / entry[0]), entry[1]
            store = self._store(name)
            if row >= len(store) or store.id[row] != uid:
                raise ConfigurationError(f"{path}: row {row} of {name} is not '{uid}'; export the store again")
            return Place(name, row, is_waveform=plain != value)
        if not file.endswith((".npy", ".npz")):
            raise ConfigurationError(
                f"{path}: '{uid}': expected STORE:ROW, STORE:ROW{kaldi_files.WAVEFORM}, FILE.ark:OFFSET or a .npy or "
                f".npz file, found '{value}'; "
                "recordings go into a store first: 'tts-prep export STORE FOLDER --to speechain' writes such files"
            )
        return Place(str(base / file), key=key or "feat")

    def _store(self, path: str) -> UtteranceDataset:
        if path not in self._stores:
            self._stores[path] = UtteranceDataset(path)
        return self._stores[path]

    def utterance(self, place: Place) -> Utterance:
        """Return the utterance of a place in a store.

        Raises:
            ConfigurationError: the place is a file.
        """
        if place.row < 0:
            raise ConfigurationError(f"{place.path}: pitch can only be read from a store")
        return self._store(place.path)[place.row]

    def load(self, place: Place) -> npt.NDArray[Any]:
        """Return the array of a place that is no waveform.

        Raises:
            ConfigurationError: the file cannot be read.
        """
        if place.row >= 0:
            return self.utterance(place).mel
        if place.offset >= 0:
            return kaldi_files.read_ark(place.path, place.offset)
        try:
            loaded = np.load(place.path, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            with loaded:
                array: npt.NDArray[Any] = loaded[place.key]
                return array
        except (OSError, ValueError, KeyError) as error:
            raise ConfigurationError(f"{place.path}: '{place.key}' cannot be read ({error})") from error


FIELDS = ("feat", "text", "duration", "spk_ids", "spk_feat")
SPACE = "<space>"


class MainDataset(RandomExamples):
    """Examples of ``main_data``, in the order of their ids.

    An example is a dict with the fields of ``main_data``: ``feat`` [T, D] float32, where a waveform is [T, 1];
    ``text``, a string, or a list of tokens where the file has a list in brackets; ``duration`` [L] float64; ``pitch``
    [T] float32; ``spk_ids``, a string; and ``spk_feat``. Tokens ``<space>`` at the ends of a text are cut off, and
    their share of the durations is cut off the features. Ids that are missing in one of the files, and those whose text
    consists of ``<space>`` only, are left out, and listed in `left_out`.

    Args:
        main_data: field → files.
        sample_rate: the sample rate that waveforms of stores must have, Hz.
        pitch_hop: the number of samples between values of pitch, as in ``pitch_conf``; None gives no pitch. The pitch
            is that of the store.
        spk_feat: files of speaker embeddings; each example gets that of a random speaker. None gives no embeddings.
        use_aver_feat: use the mean embedding of each speaker, from the file ``spk2aver_…_spk_feat`` beside `spk_feat`.
        mixup_number: the number of random embeddings that are averaged, of different speakers if there are enough.
        seed: the seed of the random speakers, which depend on seed, epoch and example.

    Attributes:
        ids: the ids of the examples, sorted.
        left_out: the ids of some files that are missing in others, or have no text.
        group_info: kind → id → value, of ``group_info``.
    """

    def __init__(
        self,
        main_data: Mapping[str, str | Sequence[str]],
        sample_rate: int = 16000,
        pitch_hop: int | None = None,
        spk_feat: str | Sequence[str] | None = None,
        use_aver_feat: bool = True,
        mixup_number: int = 1,
        seed: int = 0,
    ) -> None:
        self.group_info: dict[str, dict[str, str]] = {}
        self._draws = EpochDraws(seed)
        self._arrays = ArrayPlaces()
        self._sample_rate = sample_rate
        self._pitch_hop = pitch_hop
        self._places: dict[str, dict[str, Place]] = {}
        tables: dict[str, Mapping[str, Any]] = {}
        for name, paths in main_data.items():
            where = f"main_data.{name}"
            if name in ("feat", "spk_feat"):
                tables[name] = self._places[name] = self._arrays.read(check_paths(where, paths))
            else:
                tables[name] = kaldi_files.read_tables(check_paths(where, paths))
        self._texts = {uid: _tokens(text) for uid, text in tables.get("text", {}).items()}
        self.text_lengths = {uid: len(text) for uid, text in tables.get("text", {}).items()}
        self._durations = {uid: _seconds(uid, text) for uid, text in tables.get("duration", {}).items()}
        self._speakers: Mapping[str, str] = tables.get("spk_ids", {})
        self._random = (
            None if spk_feat is None else _RandomSpeakers(self._arrays, spk_feat, use_aver_feat, mixup_number)
        )
        common = set.intersection(*(set(table) for table in tables.values()))
        silent = {uid for uid, text in self._texts.items() if isinstance(text, list) and not any(map(_spoken, text))}
        self.ids = sorted(common - silent)
        self.left_out = tuple(sorted(set().union(*tables.values()).difference(self.ids)))
        if not self.ids:
            raise SamplingError(f"main_data: no id is in all of {', '.join(main_data)}")
        self._check_ends(main_data)

    def _check_ends(self, main_data: Mapping[str, Any]) -> None:
        if "feat" in main_data and "duration" not in main_data:
            for uid in self.ids:
                text = self._texts.get(uid)
                if isinstance(text, list) and not (_spoken(text[0]) and _spoken(text[-1])):
                    raise ConfigurationError(
                        f"main_data: the text of '{uid}' begins or ends with {SPACE}; to cut it off the features, "
                        "'duration' is needed"
                    )

    def keep(self, ids: Mapping[str, Any]) -> None:
        """Leave out the examples whose id is not in a table.

        Raises:
            SamplingError: none is left.
        """
        missing = [uid for uid in self.ids if uid not in ids]
        self.left_out = tuple(sorted({*self.left_out, *missing}))
        self.ids = [uid for uid in self.ids if uid in ids]
        if not self.ids:
            raise SamplingError("no id of main_data is in the file of lengths, or of groups")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the ids in order, hexadecimal."""
        return json_sha256([type(self).__name__, *self.ids])

    def _example(self, i: int, epoch: int | None) -> dict[str, Any]:
        uid = self.ids[i]
        example: dict[str, Any] = {}
        if "feat" in self._places:
            example.update(self._features(uid))
        if self._texts:
            example["text"] = self._texts[uid]
        if self._durations:
            example["duration"] = self._durations[uid]
        if isinstance(example.get("text"), list):
            _cut_ends(example)
        if self._speakers:
            example["spk_ids"] = self._speakers[uid]
        if "spk_feat" in self._places:
            example["spk_feat"] = self._arrays.load(self._places["spk_feat"][uid])
        if self._random is not None:
            example.update(self._random.draw(self._draws, i, epoch))
        return example

    def _features(self, uid: str) -> dict[str, npt.NDArray[Any]]:
        place = self._places["feat"][uid]
        if not place.is_waveform:
            features = self._arrays.load(place)
            found = {"feat": features[:, None] if features.ndim == 1 else features}
        else:
            utterance = self._arrays.utterance(place)
            if utterance.store.sample_rate != self._sample_rate:
                raise ConfigurationError(
                    f"'{uid}': sample_rate is {self._sample_rate} Hz, the store has {utterance.store.sample_rate}; "
                    f"make it with --sample-rate {self._sample_rate}"
                )
            found = {"feat": utterance.audio[:, None]}
        if self._pitch_hop is not None:
            found["pitch"] = self._pitch(uid, self._arrays.utterance(place), self._pitch_hop)
        return found

    def _pitch(self, uid: str, utterance: Utterance, hop_length: int) -> npt.NDArray[Any]:
        if "pitch" not in utterance.arrays:
            raise ConfigurationError(
                f"pitch_conf: the store of '{uid}' has no pitch; add it with 'tts-prep add STORE --feature "
                "pitch:unvoiced=interpolated,floor=80,ceiling=400'"
            )
        if utterance.store.hop_length != hop_length:
            raise ConfigurationError(
                f"pitch_conf: hop_length is {hop_length}, the store of '{uid}' has {utterance.store.hop_length}"
            )
        return utterance.arrays["pitch"]


class _RandomSpeakers:
    """Embeddings of random speakers, as ``RandomSpkFeatDataset`` has them."""

    def __init__(self, arrays: ArrayPlaces, paths: str | Sequence[str], use_means: bool, mixup_number: int) -> None:
        files = [Path(path) for path in check_paths("spk_feat", paths)]
        self._arrays = arrays
        self._number = mixup_number
        speakers = kaldi_files.read_tables([str(path.with_name("idx2spk")) for path in files])
        self._places: dict[str, dict[str, Place]] = {}
        if use_means:
            # idx2ecapa_spk_feat → ecapa
            models = [path.name.rpartition("2")[2].partition("_")[0] for path in files]
            names = [
                str(path.with_name(f"spk2aver_{model}_spk_feat")) for path, model in zip(files, models, strict=True)
            ]
            self._places = {name: {"aver_spk_feat": place} for name, place in arrays.read(names).items()}
        else:
            for uid, place in arrays.read([str(path) for path in files]).items():
                if uid not in speakers:
                    raise ConfigurationError(f"spk_feat: '{uid}' has no speaker in idx2spk")
                self._places.setdefault(speakers[uid], {})[uid] = place
        self._names = sorted(self._places)

    def draw(self, draws: EpochDraws, i: int, epoch: int | None) -> dict[str, Any]:
        words = draws.words(2 * self._number, i, epoch).tolist()
        chosen = _different(self._names, words[: self._number])
        ids = [
            sorted(self._places[name])[word % len(self._places[name])]
            for name, word in zip(chosen, words[self._number :], strict=True)
        ]
        features = [self._arrays.load(self._places[name][uid]) for name, uid in zip(chosen, ids, strict=True)]
        return {
            "spk_feat": np.mean(features, axis=0, dtype=np.float32),
            "spk_feat_ids": "+".join(sorted(ids)),
            "spk_ids": "+".join(sorted(chosen)),
        }


def _different(names: Sequence[str], words: Sequence[int]) -> list[str]:
    """Return a name for each random word, all different as long as there are enough names."""
    chosen: list[str] = []
    left: list[str] = []
    for word in words:
        left = left or list(names)
        chosen.append(left.pop(word % len(left)))
    return chosen


def collate_main_data(examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Batch examples as SpeeChain does.

    ``feat`` [B, T, D], ``pitch`` [B, T] and ``duration`` [B, L] are float32 and padded with zeros, with their lengths
    [B] int64 in ``feat_len``, ``pitch_len`` and ``duration_len``; ``spk_feat`` is stacked; everything else is a list.
    Examples whose pitch has no voiced frame are left out, unless all are such.
    """
    examples = [example for example in examples if np.any(example.get("pitch", 1))] or examples
    batch: dict[str, Any] = {}
    for name in examples[0]:
        values = [example[name] for example in examples]
        if name == "feat":
            batch[name], batch["feat_len"] = pad_spectrograms(values, time_major=True)
        elif name in ("pitch", "duration"):
            batch[name], batch[f"{name}_len"] = pad_sequences(values, 0, np.float32)
        elif name == "spk_feat":
            batch[name] = np.stack(values)
        else:
            batch[name] = values
    return batch


def _spoken(token: str) -> bool:
    return token != SPACE


def _tokens(text: str) -> str | list[str]:
    """Return the tokens of ``['a', 'b']``, and any other text as it is."""
    if not (text.startswith("[") and text.endswith("]")):
        return text
    tokens = text[1:-1].split(", ")
    return [token[1:-1] if token.startswith("'") and token.endswith("'") else token for token in tokens]


def _seconds(uid: str, text: str) -> npt.NDArray[np.float64]:
    tokens = _tokens(text)
    try:
        if isinstance(tokens, str):
            raise ValueError
        return np.array([float(token) for token in tokens])
    except ValueError:
        raise ConfigurationError(
            f"main_data.duration: '{uid}': expected numbers in brackets, found {text[:40]!r}"
        ) from None


def _cut_ends(example: dict[str, Any]) -> None:
    """Cut ``<space>`` at both ends off a text, and its share of the durations off everything else."""
    text: list[str] = example["text"]
    spoken = [place for place, token in enumerate(text) if _spoken(token)]
    first, end = spoken[0], spoken[-1] + 1
    example["text"] = text[first:end]
    if "duration" not in example:
        return
    durations = example["duration"]
    # One by one from the ends, in the order in which SpeeChain adds them: the rounding of the sums decides on a sample.
    total = sum(durations.tolist())
    before, behind = sum(durations[:first].tolist()) / total, sum(durations[end:][::-1].tolist()) / total
    example["duration"] = durations[first:end]
    for name in ("feat", "pitch"):
        if name in example:
            values = example[name]
            example[name] = values[int(before * len(values)) : len(values) - int(behind * len(values))]
