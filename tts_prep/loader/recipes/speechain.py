"""SpeeChain's data configuration: YAML in, iterators of batches out, over stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.format.layout import MANIFEST
from tts_prep.loader.batching.padding import batch_spec, batch_text_id
from tts_prep.loader.dataloader import DataLoader
from tts_prep.loader.dataset.composition import DatasetMixin
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import check_seed, digest, permutation
from tts_prep.loader.recipes.kaldi_files import parse_store_entry, read_tables, store_entry
from tts_prep.loader.recipes.ref_yaml import read_yaml
from tts_prep.loader.samplers.base import Sampler, check_batch_size
from tts_prep.loader.samplers.ranks import check_rank
from tts_prep.loader.samplers.shapes import BatchPositions

GROUPS = ({"train", "valid", "test"}, {"train", "valid"}, {"test"})
DATASET_TYPES = ("speech.speech_text.SpeechTextDataset",)
ITERATOR_TYPES = {"block.BlockIterator": "batch_len", "piece.PieceIterator": "batch_size"}

Tokenizer = Callable[[str], npt.ArrayLike]


def read_config(source: str | Path) -> dict[str, dict[str, Any]]:
    """Read the groups of a configuration: ``train``, ``valid`` and ``test``, with ``!ref`` resolved.

    Other keys of the root may be plain values or lists, for ``!ref`` to name.

    Raises:
        ConfigurationError: the file is missing or not such YAML, or its groups are not a combination that is allowed.
    """
    root = read_yaml(source)
    names = {"train", "valid", "test"}
    for key, value in root.items():
        if key not in names and isinstance(value, dict):
            raise ConfigurationError(f"the key '{key}' is unknown; groups are train, valid and test")
    groups = {name: value for name, value in root.items() if name in names}
    if set(groups) not in GROUPS:
        raise ConfigurationError(
            f"expected the groups train, valid and test, train and valid, or test; found {', '.join(groups) or 'none'}"
        )
    for name, group in groups.items():
        if not isinstance(group, dict) or not group:
            raise ConfigurationError(f"{name}: expected an iterator, or several by name")
    return groups


def build_iterators(
    source: str | Path | Mapping[str, Any],
    *,
    tokenizer: Tokenizer | None = None,
    output: str = "numpy",
    rank: int = 0,
    world_size: int = 1,
) -> dict[str, IteratorGroup]:
    """Build the iterators of a configuration, by group.

    Args:
        source: what `read_config` takes, or what it gave.
        tokenizer: from a label's text to ids [L]. Without one, a label that is the store's text or phoneme text of its
            utterance becomes the store's ids, and any other is spelled in the store's vocabulary.
        output: ``"numpy"`` arrays or ``"torch"`` tensors.
        rank: this process's share of what is ``distributed``.
        world_size: how many shares there are.

    Raises:
        ConfigurationError: a key is unknown or missing, a value cannot be used, a file is missing, mixed files
            contradict each other, or a label cannot be spelled.
    """
    groups = source if isinstance(source, Mapping) else read_config(source)
    check_rank(rank, world_size)
    return {name: IteratorGroup(name, group, tokenizer, output, (rank, world_size)) for name, group in groups.items()}


class IteratorGroup:
    """The iterators of one group, together: each step gives a dict of batches by name, or one bare batch.

    Attributes:
        loaders: by iterator name; ``""`` where the configuration gives none.
    """

    def __init__(
        self,
        name: str,
        config: Mapping[str, Any],
        tokenizer: Tokenizer | None,
        output: str,
        share: tuple[int, int],
    ) -> None:
        named = {"": config} if isinstance(config.get("type"), str) else config
        self.loaders: dict[str, DataLoader[Any]] = {
            key: _build_loader(f"{name}.{key}".rstrip("."), value, tokenizer, output, share, shuffle=name == "train")
            for key, value in named.items()
        }

    def __len__(self) -> int:
        """Return the steps of an epoch: those of the iterator that has the fewest."""
        return min(len(loader) for loader in self.loaders.values())

    def __iter__(self) -> Iterator[Any]:
        if len(self.loaders) == 1:
            return iter(next(iter(self.loaders.values())))
        return self._together()

    def _together(self) -> Iterator[dict[str, Any]]:
        steps = len(self)
        iterators = {name: iter(loader) for name, loader in self.loaders.items()}
        try:
            for _ in range(steps):
                yield {name: next(iterator) for name, iterator in iterators.items()}
        finally:
            for iterator in iterators.values():
                iterator.close()

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration that of an epoch, in every iterator."""
        for loader in self.loaders.values():
            loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return where every iterator stands."""
        return {name: loader.state_dict() for name, loader in self.loaders.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of a group with the same iterators.

        Raises:
            ConfigurationError: it is the state of something else.
        """
        if set(state) != set(self.loaders):
            raise ConfigurationError(f"load_state_dict: expected iterators {list(self.loaders)}, found {list(state)}")
        for name, loader in self.loaders.items():
            loader.load_state_dict(state[name])


class SpeechTextDataset(DatasetMixin):
    """Features with labels and meta information, joined by id.

    An example is a dict: ``feat`` [T, D] float32, ``text`` [L] int64 where there are labels, and one text for each kind
    of meta information. Ids that not every file has are left out, and listed in `left_out`.

    Args:
        src_data: stores, ``feat.scp`` files into stores, or ``feat.scp`` files that name .npy files [T, D].
        tgt_label: files of ``id words``, or stores; None has no labels.
        meta_info: kind → files of ``id value``.
        tokenizer: see `build_iterators`.

    Attributes:
        ids: of the examples, in the order of the first file's lines, then of the second's, and so on.
        left_out: ids that some file has and another has not.
    """

    def __init__(
        self,
        src_data: str | Sequence[str],
        tgt_label: str | Sequence[str] | None = None,
        meta_info: Mapping[str, str | Sequence[str]] | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self._stores: dict[str, UtteranceDataset] = {}
        self._features = self._read_features(_paths("src_data", src_data))
        labels = None if tgt_label is None else self._read_labels(_paths("tgt_label", tgt_label))
        metas = {kind: read_tables(_paths(f"meta_info.{kind}", paths)) for kind, paths in (meta_info or {}).items()}
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
        """Yield ids with the store and row, or the .npy file and −1, of their features."""
        if (Path(path) / MANIFEST).is_file():
            store = self._store(Path(path))
            yield from ((uid, (path, row)) for row, uid in enumerate(store.id))
            return
        base = Path(path).parent
        for uid, value in read_tables([path]).items():
            entry = parse_store_entry(value)
            if entry is None and not value.endswith(".npy"):
                raise ConfigurationError(
                    f"{path}: '{uid}': expected {store_entry(Path('store'), 0)!r} or a .npy file, found '{value}'; "
                    "audio goes into a store first"
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
        labels.update(read_tables(files))
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
        return int(self._store(Path(place)).n_frames[row]) if row >= 0 else len(_read_npy(place))

    def __len__(self) -> int:
        return len(self.ids)

    def get_example(self, i: int) -> dict[str, Any]:
        """Return the example at a position."""
        place, row = self._features[self.ids[i]]
        example: dict[str, Any] = {"feat": self._store(Path(place))[row].mel if row >= 0 else _read_npy(place)}
        if self._texts is not None:
            example["text"] = self._texts[i]
        return {**example, **{kind: values[i] for kind, values in self._meta.items()}}


def collate(examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Batch examples.

    ``feat`` [B, T, D] float32, ``feat_len`` [B], ``text`` [B, L] int64, ``text_len`` [B], and lists of the rest.
    """
    batch: dict[str, Any] = {}
    for key in examples[0]:
        values = [example[key] for example in examples]
        if key == "feat":
            batch[key], batch["feat_len"] = batch_spec(values, time_major=True, return_lengths=True)
        elif key == "text":
            batch[key], batch["text_len"] = batch_text_id(values, return_lengths=True)
        else:
            batch[key] = values
    return batch


class FixedBatches(Sampler[list[int]]):
    """The same batches every epoch, in another order each time.

    Args:
        batches: lists of positions.
        shuffle: whether their order changes.
        seed: a non-negative integer.
        batches_per_epoch: number of batches in an epoch. Each epoch continues where the one before it stopped, through
            one order of all batches after another. None takes all.
        rank: of this process.
        world_size: number of processes; the first batches are repeated where it does not divide them.
    """

    def __init__(
        self,
        batches: Sequence[list[int]],
        shuffle: bool = True,
        seed: int = 0,
        batches_per_epoch: int | None = None,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(rank=rank, world_size=world_size)
        self._batches = batches
        self._shuffle = shuffle
        self._seed = check_seed(seed)
        self._per_epoch = len(batches) if batches_per_epoch is None else check_batch_size(batches_per_epoch)

    @property
    def size(self) -> None:
        """None: a selection may leave positions out."""
        return

    def order(self, epoch: int) -> Iterator[list[int]]:
        """Return the batches of an epoch, for all ranks."""
        n = len(self._batches)
        first = epoch * self._per_epoch
        turns = range(first // n, -(-(first + self._per_epoch) // n))
        orders = [permutation(n, self._seed, turn) if self._shuffle else np.arange(n) for turn in turns]
        start = first - turns[0] * n
        numbers = np.concatenate(orders)[start : start + self._per_epoch]
        return (BatchPositions(self._batches[number], epoch) for number in numbers.tolist())

    def order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return how many batches an epoch holds, for all ranks."""
        return self._per_epoch

    def settings(self) -> dict[str, Any]:
        """Return what decides on an epoch."""
        flat = [position for batch in self._batches for position in [*batch, len(self._batches)]]
        return {
            "batches": digest(np.array(flat, np.int64)),
            "shuffle": self._shuffle,
            "seed": self._seed,
            "per_epoch": self._per_epoch,
        }


@dataclass(frozen=True)
class IteratorConfig:
    """What ``conf`` may hold besides ``dataset_type`` and ``dataset_conf``.

    Attributes:
        batch_len: for `BlockIterator`: padded frames a batch, at most; None makes batches of one.
        batch_size: for `PieceIterator`: utterances a batch; None makes batches of one.
        batches_per_epoch: None takes all.
        data_len: files of ``id length`` in the place of the features' own lengths.
        is_descending: sort by length, the longest first; False the shortest first; None keeps the files' order.
        shuffle: the order of batches; by default in the group ``train``.
        seed: a non-negative integer.
        selection_mode: ``order``, ``rev_order`` or ``random``.
        selection_num: a share from 0 to 1, or a count as a negative integer.
        num_workers: threads that make batches.
        pin_memory: accepted, without effect: batches come in pageable memory.
        distributed: whether ranks share the batches; False gives all to each.
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


def select_positions(n: int, mode: str, number: float | int, seed: int) -> npt.NDArray[np.int64]:
    """Return the positions of a selection, ascending.

    Args:
        n: how many there are.
        mode: ``order``: the first; ``rev_order``: the last; ``random``: each at most once.
        number: a share from 0 to 1 (rounded down, at least one), or a count as a negative integer.
        seed: for ``random``.

    Raises:
        ConfigurationError: the mode is unknown, or the number out of range.
    """
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ConfigurationError(f"selection_num: expected a share or a negative count, found {number!r}")
    if number < 0 and number == int(number):
        count = -int(number)
    elif 0 < number <= 1:
        count = max(1, int(n * number))
    else:
        raise ConfigurationError(f"selection_num: expected a share from 0 to 1, or a negative integer, found {number}")
    if count > n:
        raise ConfigurationError(f"selection_num: {count:,} are wanted, there are {n:,}")
    if mode == "order":
        return np.arange(count)
    if mode == "rev_order":
        return np.arange(n - count, n)
    if mode == "random":
        return np.sort(permutation(n, check_seed(seed), 0)[:count])
    raise ConfigurationError(f"selection_mode: expected order, rev_order or random, found {mode!r}")


def cut_blocks(positions: Sequence[int], lengths: npt.NDArray[np.int64], most: int) -> list[list[int]]:
    """Cut positions, in their order, into batches whose padded size is at most so many frames.

    Raises:
        SamplingError: one alone is larger.
    """
    batches: list[list[int]] = [[]]
    longest = 0
    for position in positions:
        length = int(lengths[position])
        if length > most:
            raise SamplingError(f"example {position} alone has {length:,} frames, more than batch_len = {most:,}")
        if (len(batches[-1]) + 1) * max(longest, length) > most:
            batches.append([])
            longest = 0
        batches[-1].append(position)
        longest = max(longest, length)
    return [batch for batch in batches if batch]


def _build_loader(
    where: str,
    config: Any,
    tokenizer: Tokenizer | None,
    output: str,
    share: tuple[int, int],
    *,
    shuffle: bool,
) -> DataLoader[Any]:
    _check_keys(where, config, {"type", "conf"}, {"type", "conf"})
    kind, conf = config["type"], config["conf"]
    if kind not in ITERATOR_TYPES:
        raise ConfigurationError(f"{where}.type: expected one of {', '.join(ITERATOR_TYPES)}, found {kind!r}")
    own = set(IteratorConfig.__dataclass_fields__) - (set(ITERATOR_TYPES.values()) - {ITERATOR_TYPES[kind]})
    _check_keys(f"{where}.conf", conf, {"dataset_type", "dataset_conf", *own}, {"dataset_type", "dataset_conf"})
    if conf["dataset_type"] not in DATASET_TYPES:
        raise ConfigurationError(
            f"{where}.conf.dataset_type: expected {', '.join(DATASET_TYPES)}, found {conf['dataset_type']!r}"
        )
    _check_keys(
        f"{where}.conf.dataset_conf", conf["dataset_conf"], {"src_data", "tgt_label", "meta_info"}, {"src_data"}
    )
    _check_types(f"{where}.conf", conf)
    settings = IteratorConfig(**{key: value for key, value in conf.items() if key in own})
    if settings.is_descending not in (True, False, None) and str(settings.is_descending).lower() != "none":
        raise ConfigurationError(f"{where}.conf.is_descending: expected true, false or none")
    dataset = SpeechTextDataset(**conf["dataset_conf"], tokenizer=tokenizer)
    batches = _cut(dataset, settings)
    rank, world_size = share if settings.distributed else (0, 1)
    sampler = FixedBatches(
        batches,
        shuffle if settings.shuffle is None else settings.shuffle,
        settings.seed,
        settings.batches_per_epoch,
        rank,
        world_size,
    )
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
        table = read_tables(_paths("data_len", settings.data_len))
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


def _check_keys(where: str, config: Any, allowed: set[str], needed: set[str]) -> None:
    if not isinstance(config, Mapping):
        raise ConfigurationError(f"{where}: expected keys {', '.join(sorted(needed))}, found {config!r}")
    for key in config:
        if key not in allowed:
            raise ConfigurationError(f"{where}: the key '{key}' is unknown; there are {', '.join(sorted(allowed))}")
    for key in sorted(needed):
        if config.get(key) is None:
            raise ConfigurationError(f"{where}: the key '{key}' is missing")


_INTEGERS = {"batch_len", "batch_size", "batches_per_epoch", "seed", "num_workers"}
_OPTIONAL = {"batch_len", "batch_size", "batches_per_epoch"}
_BOOLEANS = {"shuffle", "pin_memory", "distributed"}


def _check_types(where: str, conf: Mapping[str, Any]) -> None:
    for key, value in conf.items():
        if value is None and key in _OPTIONAL:
            continue
        if key in _INTEGERS and (type(value) is not int or value < (key not in ("seed", "num_workers"))):
            raise ConfigurationError(f"{where}.{key}: expected a positive integer, found {value!r}")
        if key in _BOOLEANS and type(value) is not bool:
            raise ConfigurationError(f"{where}.{key}: expected true or false, found {value!r}")


def _paths(where: str, paths: Any) -> list[str]:
    found = [paths] if isinstance(paths, str | Path) else paths
    if not isinstance(found, list | tuple) or not found or not all(isinstance(path, str | Path) for path in found):
        raise ConfigurationError(f"{where}: expected a path or a list of paths, found {paths!r}")
    return [str(path) for path in found]


def _read_npy(path: str) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read as a .npy file ({error})") from error
    if array.ndim != 2:
        raise ConfigurationError(f"{path}: expected [T, D], found the shape {list(array.shape)}")
    return array
