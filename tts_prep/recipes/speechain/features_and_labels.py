"""SpeeChain's first data configuration: ``src_data`` with ``tgt_label`` and ``meta_info``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.batches.composition import DatasetMixin
from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.layout import MANIFEST
from tts_prep.loader.batching.padding import pad_sequences, pad_spectrograms
from tts_prep.loader.dataloader import DataLoader
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.samplers.base import check_batch_size
from tts_prep.recipes import kaldi_files
from tts_prep.recipes.speechain.batches import FixedBatches, cut_blocks, select_positions
from tts_prep.recipes.speechain.configuration import check_keys, check_paths, check_types

DATASET_TYPE = "speech.speech_text.SpeechTextDataset"
ITERATOR_TYPES = {"block.BlockIterator": "batch_len", "piece.PieceIterator": "batch_size"}

Tokenizer = Callable[[str], npt.ArrayLike]


class SpeechTextDataset(DatasetMixin):
    """Features with labels and meta information, joined by id.

    An example is a dict: ``feat`` [T, D] float32; ``text`` [L] int64 if there are labels; and a text for each kind of
    meta information. Ids that are missing in one of the files are left out, and listed in `left_out`.

    Args:
        src_data: stores, ``feat.scp`` files into stores, or ``feat.scp`` files that name .npy files or places in Kaldi
            archives, [T, D].
        tgt_label: files of ``id words``, or stores; None gives no labels.
        meta_info: kind → files of ``id value``.
        tokenizer: see `build_iterators`.

    Attributes:
        ids: of the examples, in the order of the first file's lines, then of the second's, and so on.
        left_out: the ids of some files that are missing in others.
        lengths: [n] int64, the number of rows of each example's features.

    Raises:
        ConfigurationError: a file cannot be read, two files contradict each other, or a label cannot be encoded.
        SamplingError: no id is in all files.
    """

    def __init__(
        self,
        src_data: str | Sequence[str],
        tgt_label: str | Sequence[str] | None = None,
        meta_info: Mapping[str, str | Sequence[str]] | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self._stores: dict[str, UtteranceDataset] = {}
        self._features = self._read_features(check_paths("src_data", src_data))
        labels = None if tgt_label is None else self._read_labels(check_paths("tgt_label", tgt_label))
        metas = {
            kind: kaldi_files.read_tables(check_paths(f"meta_info.{kind}", paths))
            for kind, paths in (meta_info or {}).items()
        }
        tables = [table for table in (labels, *metas.values()) if table is not None]
        self.ids = [uid for uid in self._features if all(uid in table for table in tables)]
        everything = set(self._features).union(*tables)
        self.left_out = tuple(sorted(everything.difference(self.ids)))
        if not self.ids:
            raise SamplingError("no id is in all of src_data, tgt_label and meta_info")
        self._meta = {kind: [table[uid] for uid in self.ids] for kind, table in metas.items()}
        self._texts = None if labels is None else [self._encode(uid, labels[uid], tokenizer) for uid in self.ids]
        self.lengths = np.array([self._length(uid) for uid in self.ids], np.int64)

    def _read_features(self, paths: Sequence[str]) -> dict[str, tuple[str, int]]:
        features: dict[str, tuple[str, int]] = {}
        for path in paths:
            for uid, place in self._places(path):
                if features.setdefault(uid, place) != place:
                    raise ConfigurationError(f"'{uid}' stands in {path} and, with other data, in a file before it")
        return features

    def _places(self, path: str) -> Iterator[tuple[str, tuple[str, int]]]:
        """Yield ids with the store and row, or the .npy file or place in an archive and −1, of their features."""
        if (Path(path) / MANIFEST).is_file():
            store = self._store(Path(path))
            yield from ((uid, (path, row)) for row, uid in enumerate(store.id))
            return
        base = Path(path).parent
        for uid, value in kaldi_files.read_tables([path]).items():
            ark = kaldi_files.parse_ark_entry(value)
            if ark is not None:
                yield uid, (f"{kaldi_files.ark_path(base, ark[0])}:{ark[1]}", -1)
                continue
            entry = kaldi_files.parse_store_entry(value)
            if entry is None and not value.endswith(".npy"):
                raise ConfigurationError(
                    f"{path}: '{uid}': expected {kaldi_files.store_entry(Path('store'), 0)!r}, FILE.ark:OFFSET or "
                    f"a .npy file, found '{value}'; audio goes into a store first"
                )
            place, row = entry or (value, -1)
            name = str(base / place)
            if row >= 0:
                store = self._store(Path(name))
                if row >= len(store) or store.id[row] != uid:
                    raise ConfigurationError(f"{path}: row {row} of {name} is not '{uid}'; export the store again")
            yield uid, (name, row)

    def _read_labels(self, paths: Sequence[str]) -> dict[str, str | None]:
        labels: dict[str, str | None] = {}
        files = [path for path in paths if not (Path(path) / MANIFEST).is_file()]
        for path in paths:
            if path not in files:
                labels.update((uid, None) for uid in self._store(Path(path)).id)
        labels.update(kaldi_files.read_tables(files))
        return labels

    def _store(self, path: Path) -> UtteranceDataset:
        key = str(path)
        if key not in self._stores:
            store = UtteranceDataset(path)
            for other in self._stores.values():
                if (store.symbols, store.n_mels) != (other.symbols, other.n_mels):
                    raise ConfigurationError(
                        f"{path} has another vocabulary or mel than {other.path}; they cannot be mixed"
                    )
            self._stores[key] = store
        return self._stores[key]

    def _encode(self, uid: str, label: str | None, tokenizer: Tokenizer | None) -> npt.NDArray[np.int64]:
        place, row = self._features[uid]
        store = self._store(Path(place)) if row >= 0 else None
        if tokenizer is not None and label is not None:
            return np.asarray(tokenizer(label), np.int64)
        if store is None:
            raise ConfigurationError(f"the label of '{uid}' needs a tokenizer: its features are not from a store")
        if label is None or label in (" ".join(store.text[row].split()), " ".join(store.phoneme_text[row].split())):
            return store[row].phonemes.astype(np.int64)
        code = {symbol: number for number, symbol in enumerate(store.symbols)}
        unknown = sorted({symbol for symbol in label if symbol not in code})
        if unknown:
            raise ConfigurationError(
                f"the label of '{uid}' is not the store's text, and {unknown} are not in its vocabulary; "
                "give a tokenizer"
            )
        return np.array([code[symbol] for symbol in label], np.int64)

    def _length(self, uid: str) -> int:
        place, row = self._features[uid]
        return int(self._store(Path(place)).n_frames[row]) if row >= 0 else len(_read_matrix(place))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the ids in order, hexadecimal."""
        return json_sha256([type(self).__name__, *self.ids])

    def get_example(self, i: int) -> dict[str, Any]:
        """Return the example at a position."""
        place, row = self._features[self.ids[i]]
        example: dict[str, Any] = {"feat": self._store(Path(place))[row].mel if row >= 0 else _read_matrix(place)}
        if self._texts is not None:
            example["text"] = self._texts[i]
        return {**example, **{kind: values[i] for kind, values in self._meta.items()}}


def collate(examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Pad examples with zeros.

    Returns a dict: ``feat`` [B, T, D] float32, ``feat_len`` [B] int64, ``text`` [B, L] int64, ``text_len`` [B] int64,
    and lists of the other values.
    """
    batch: dict[str, Any] = {}
    for key in examples[0]:
        values = [example[key] for example in examples]
        if key == "feat":
            batch[key], batch["feat_len"] = pad_spectrograms(values, time_major=True)
        elif key == "text":
            batch[key], batch["text_len"] = pad_sequences(values, 0, np.int64)
        else:
            batch[key] = values
    return batch


@dataclass(frozen=True)
class IteratorConfig:
    """The settings in ``conf`` besides ``dataset_type`` and ``dataset_conf``.

    Attributes:
        batch_len: for `BlockIterator`: the maximum number of padded frames per batch; None makes batches of one.
        batch_size: for `PieceIterator`: utterances per batch; None makes batches of one.
        batches_per_epoch: the number of batches of an epoch, for all ranks; None takes all.
        data_len: files of ``id length`` lines, used instead of the lengths of the features.
        is_descending: True sorts the longest first, False the shortest first; None keeps the order of the files.
        shuffle: shuffle the batches; None does so in the group ``train`` only.
        seed: a non-negative integer.
        selection_mode: ``order``, ``rev_order`` or ``random``.
        selection_num: a share from 0 to 1, or a count as a negative integer.
        num_workers: the number of threads that make batches; 0 makes each batch on request.
        pin_memory: ignored: batches are in pageable memory.
        distributed: share the batches among the ranks; False gives all of them to every rank.
    """

    batch_len: int | None = None
    batch_size: int | None = None
    batches_per_epoch: int | None = None
    data_len: str | Sequence[str] | None = None
    is_descending: bool | None = True
    shuffle: bool | None = None
    seed: int = 0
    selection_mode: str | None = None
    selection_num: float | int | None = None
    num_workers: int = 1
    pin_memory: bool = False
    distributed: bool = True


def build_loader(
    where: str, config: Any, tokenizer: Tokenizer | None, output: str, share: tuple[int, int], *, shuffle: bool
) -> DataLoader[Any]:
    """Build the loader of an iterator whose dataset has ``src_data``.

    Args:
        where: the place in the configuration, for messages.
        config: ``type`` and ``conf``.
        tokenizer: see `build_iterators`.
        output: ``"numpy"`` or ``"torch"``.
        share: rank and world size.
        shuffle: the value of ``shuffle`` if the configuration has none.

    Raises:
        ConfigurationError: a key is unknown or missing, or a value cannot be used.
    """
    settings = _iterator_config(where, config)
    dataset = SpeechTextDataset(**config["conf"]["dataset_conf"], tokenizer=tokenizer)
    batches = _cut(dataset, settings)
    rank, world_size = share if settings.distributed else (0, 1)
    shuffle = shuffle if settings.shuffle is None else settings.shuffle
    sampler = FixedBatches(batches, shuffle, settings.seed, settings.batches_per_epoch, rank, world_size)
    return DataLoader(
        dataset,
        batch_sampler=sampler,
        collate_fn=collate,
        output="torch" if output == "torch" else "numpy",
        prefetch=2 * settings.num_workers,
        threads=max(1, settings.num_workers),
        replicate=not settings.distributed,
    )


def _cut(dataset: SpeechTextDataset, settings: IteratorConfig) -> list[list[int]]:
    lengths = dataset.lengths
    if settings.data_len is not None:
        table = kaldi_files.read_tables(check_paths("data_len", settings.data_len))
        missing = [uid for uid in dataset.ids if uid not in table]
        if missing:
            raise ConfigurationError(f"data_len: '{missing[0]}' and {len(missing) - 1:,} more have no length")
        wrong = [uid for uid in dataset.ids if not (table[uid].isascii() and table[uid].isdecimal())]
        if wrong:
            raise ConfigurationError(f"data_len: expected a number for '{wrong[0]}', found '{table[wrong[0]]}'")
        lengths = np.array([int(table[uid]) for uid in dataset.ids], np.int64)
    if (settings.selection_mode is None) != (settings.selection_num is None):
        raise ConfigurationError("selection_mode and selection_num: expected both or neither")
    positions = np.arange(len(dataset))
    if settings.selection_mode is not None and settings.selection_num is not None:
        positions = select_positions(len(dataset), settings.selection_mode, settings.selection_num, settings.seed)
    if settings.is_descending is True:
        positions = positions[np.argsort(-lengths[positions], kind="stable")]
    elif settings.is_descending is False:
        positions = positions[np.argsort(lengths[positions], kind="stable")]
    if settings.batch_len is not None:
        return cut_blocks(positions.tolist(), lengths, settings.batch_len)
    size = check_batch_size(settings.batch_size or 1)
    return [positions[start : start + size].tolist() for start in range(0, len(positions), size)]


def _read_matrix(path: str) -> npt.NDArray[Any]:
    """Return the matrix of a .npy file, or of a place ``FILE.ark:OFFSET``."""
    ark = kaldi_files.parse_ark_entry(path)
    if ark is not None:
        return kaldi_files.read_ark(*ark)
    try:
        array: npt.NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read as a .npy file ({error})") from error
    if array.ndim != 2:
        raise ConfigurationError(f"{path}: expected [T, D], found the shape {list(array.shape)}")
    return array


def _iterator_config(where: str, config: Any) -> IteratorConfig:
    """Return the settings of an iterator.

    Raises:
        ConfigurationError: a key is unknown or missing, or a value cannot be used.
    """
    check_keys(where, config, {"type", "conf"}, {"type", "conf"})
    kind, conf = config["type"], config["conf"]
    if kind not in ITERATOR_TYPES:
        raise ConfigurationError(f"{where}.type: expected one of {', '.join(ITERATOR_TYPES)}, found {kind!r}")
    own = set(IteratorConfig.__dataclass_fields__) - (set(ITERATOR_TYPES.values()) - {ITERATOR_TYPES[kind]})
    check_keys(f"{where}.conf", conf, {"dataset_type", "dataset_conf", *own}, {"dataset_type", "dataset_conf"})
    if conf["dataset_type"] != DATASET_TYPE:
        raise ConfigurationError(f"{where}.conf.dataset_type: expected {DATASET_TYPE}, found {conf['dataset_type']!r}")
    check_keys(f"{where}.conf.dataset_conf", conf["dataset_conf"], {"src_data", "tgt_label", "meta_info"}, {"src_data"})
    check_types(f"{where}.conf", conf)
    settings = IteratorConfig(**{key: value for key, value in conf.items() if key in own})
    if settings.is_descending not in (True, False, None) and str(settings.is_descending).lower() != "none":
        raise ConfigurationError(f"{where}.conf.is_descending: expected true, false or none")
    return settings
