"""The iterators of SpeeChain's published recipes: batches, how ranks share them, and the groups of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataloader import DataLoader
from tts_prep.loader.samplers.base import check_batch_size
from tts_prep.loader.samplers.ranks import check_rank
from tts_prep.recipes.kaldi_files import read_tables
from tts_prep.recipes.speechain.batches import FixedBatches, select_positions
from tts_prep.recipes.speechain.configuration import check_keys, check_paths, check_types, read_config
from tts_prep.recipes.speechain.features_and_labels import Tokenizer, build_loader
from tts_prep.recipes.speechain.main_data import FIELDS, MainDataset, collate_main_data

DATASET_TYPES = ("speech_text.SpeechTextDataset", "speech_text.RandomSpkFeatDataset")
ITERATOR_TYPES = {"abs.Iterator": "batch_size", "block.BlockIterator": "batch_len"}

_CONF = {
    *("dataset_type", "dataset_conf", "batches_per_epoch", "data_len", "group_info", "is_descending", "shuffle"),
    *("seed", "num_workers", "pin_memory"),
}
_DATASET_CONF = {"main_data", "data_selection", "sample_rate", "pitch_conf"}
_RANDOM_CONF = {"spk_feat", "use_aver_feat", "mixup_number"}
# What changes the data at random, or computes while it loads. Values that switch it off are accepted.
_NOT_HERE = {
    "use_speed_perturb": "make stores at other speeds",
    "use_g2p": "make the store with a frontend",
    "unk_mask_prob": "mask in the model",
}


def build_main_data_loader(
    where: str, config: Mapping[str, Any], output: str, rank: int, world_size: int
) -> DataLoader[Any]:
    """Build the loader of an iterator whose dataset has ``main_data``.

    Raises:
        ConfigurationError: a key is unknown or missing, or a value cannot be used.
        SamplingError: nothing is left.
    """
    own, conf = _checked(where, config)
    dataset = _dataset(f"{where}.conf.dataset_conf", conf)
    lengths = _lengths(f"{where}.conf", conf, dataset)
    ids = _selected(f"{where}.conf.dataset_conf.data_selection", conf["dataset_conf"].get("data_selection"), dataset)
    dataset.keep(dict.fromkeys(ids))
    if lengths is not None:
        dataset.keep(lengths)
    if conf.get("group_info") is not None:
        _add_groups(dataset, f"{where}.conf.group_info", conf["group_info"])
    descending = _descending(where, conf.get("is_descending", True))
    values = None if lengths is None else np.array([lengths[uid] for uid in dataset.ids], np.int64)
    order = _order(len(dataset), values, descending)
    if own == "batch_len":
        batches = _cut_by_length(f"{where}.conf", order, values, conf.get("batch_len"))
    else:
        size = check_batch_size(conf.get("batch_size") or world_size)
        batches = [order[start : start + size].tolist() for start in range(0, len(order), size)]
    sampler = FixedBatches(
        split_batches(batches, rank, world_size, first_to_last=descending is False),
        conf.get("shuffle", True) is not False,
        conf.get("seed", 0),
        conf.get("batches_per_epoch"),
    )
    workers = conf.get("num_workers", 1)
    return DataLoader(
        dataset,
        batch_sampler=sampler,
        collate_fn=collate_main_data,
        output="torch" if output == "torch" else "numpy",
        prefetch=2 * workers,
        threads=max(1, workers),
        # Every rank has its own share of each batch already.
        replicate=True,
    )


def cut_by_sum(
    order: Sequence[int] | npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], total: int
) -> list[list[int]]:
    """Cut positions into batches: each ends with the position that brings its sum of lengths to `total` or above."""
    batches: list[list[int]] = [[]]
    length = 0
    for position in order:
        batches[-1].append(int(position))
        length += int(lengths[position])
        if length >= total:
            batches.append([])
            length = 0
    return [batch for batch in batches if batch]


def split_batches(
    batches: Sequence[list[int]], rank: int, world_size: int, first_to_last: bool = False
) -> list[list[int]]:
    """Return a rank's share of each batch: every `world_size`-th position.

    The remainder of each batch, divided by the number of ranks, goes to the next batch. Rank 0 has the last of each
    `world_size` positions, and with `first_to_last` the first. Where the last batch has fewer positions than there are
    ranks, a rank without any gets the batch's last position, so that all ranks make the same number of steps.
    """
    even: list[list[int]] = []
    rest: list[int] = []
    for batch in batches:
        joined = rest + batch
        whole = len(joined) - len(joined) % world_size
        even.append(joined[:whole])
        rest = joined[whole:]
    start = rank if first_to_last else world_size - rank - 1
    return [batch[start::world_size] or batch[-1:] for batch in [*even, rest] if batch]


def _dataset(where: str, conf: Mapping[str, Any]) -> MainDataset:
    settings = conf["dataset_conf"]
    random = conf["dataset_type"] == DATASET_TYPES[1]
    allowed = {*_DATASET_CONF, *_NOT_HERE, *(_RANDOM_CONF if random else ())}
    check_keys(where, settings, allowed, {"main_data", *(("spk_feat",) if random else ())})
    for key, instead in _NOT_HERE.items():
        if settings.get(key):
            raise ConfigurationError(f"{where}.{key}: not done while loading; {instead}")
    main_data = settings["main_data"]
    check_keys(f"{where}.main_data", main_data, set(FIELDS) - ({"spk_ids", "spk_feat"} if random else set()), set())
    if not {"feat", "text"} & set(main_data):
        raise ConfigurationError(
            f"{where}.main_data: expected 'feat' or 'text', found {', '.join(main_data) or 'none'}"
        )
    pitch = settings.get("pitch_conf")
    return MainDataset(
        main_data,
        settings.get("sample_rate", 16000),
        None if pitch is None else pitch.get("hop_length", 256),
        **{key: settings[key] for key in _RANDOM_CONF if key in settings},
        seed=conf.get("seed", 0),
    )


def _lengths(where: str, conf: Mapping[str, Any], dataset: MainDataset) -> dict[str, int] | None:
    if conf.get("data_len") is None:
        return dataset.text_lengths or None
    table = read_tables(check_paths(f"{where}.data_len", conf["data_len"]))
    for uid, value in table.items():
        if not (value.isascii() and value.isdecimal()):
            raise ConfigurationError(f"{where}.data_len: expected a number for '{uid}', found '{value}'")
    return {uid: int(value) for uid, value in table.items()}


def _selected(where: str, selections: Any, dataset: MainDataset) -> list[str]:
    ids = list(dataset.ids)
    if selections is None:
        return ids
    if not isinstance(selections, list) or not selections:
        raise ConfigurationError(f"{where}: expected [mode, number] or [mode, number, file], found {selections!r}")
    for selection in selections if isinstance(selections[0], list) else [selections]:
        if len(selection) == 2:
            ids = [ids[i] for i in select_positions(len(ids), selection[0], selection[1], 0)]
        elif len(selection) == 3:
            mode, number, path = selection
            table = read_tables(check_paths(where, path))
            ids = _select_by_value(where, ids, mode, number, table)
        else:
            raise ConfigurationError(f"{where}: expected [mode, number] or [mode, number, file], found {selection!r}")
    return ids


def _select_by_value(where: str, ids: list[str], mode: str, number: Any, table: Mapping[str, str]) -> list[str]:
    """Return the ids with the smallest, largest or middle values, or of groups; ids without a value stay."""
    known = [uid for uid in ids if uid in table]
    if mode == "group":
        wanted = number if isinstance(number, list) else [number]
        return [uid for uid in ids if uid not in table or table[uid] in wanted]
    if mode not in ("min", "max", "middle"):
        raise ConfigurationError(f"{where}: expected min, max, middle or group with a file, found {mode!r}")
    try:
        values = {uid: float(table[uid]) for uid in known}
        limit = float(number) if isinstance(number, str) else None
    except ValueError as error:
        raise ConfigurationError(f"{where}: expected numbers ({error})") from error
    if limit is not None and mode != "middle":
        return [
            uid for uid in ids if uid not in values or (values[uid] <= limit if mode == "min" else values[uid] >= limit)
        ]
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ConfigurationError(f"{where}: expected a share or a negative count, found {number!r}")
    ordered = sorted(known, key=values.__getitem__)
    count = int(-number if number < 0 else len(ordered) * number)
    first = {"min": 0, "max": len(ordered) - count, "middle": (len(ordered) - count) // 2}[mode]
    kept = set(ordered[first : len(ordered) - first if mode == "middle" else first + count])
    return [uid for uid in ids if uid not in values or uid in kept]


def _descending(where: str, value: Any) -> bool | None:
    if value not in (True, False, None) and str(value).lower() != "none":
        raise ConfigurationError(f"{where}.conf.is_descending: expected true, false or none")
    return value if isinstance(value, bool) else None


def _integer(value: Any) -> Any:
    """Return an integer for a number of batches or samples that YAML read as text or with a fraction."""
    try:
        return int(float(value)) if isinstance(value, str | float) else value
    except (ValueError, OverflowError):
        return value


def _checked(where: str, config: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the key of the size of batches of an iterator's type, and its settings.

    Raises:
        ConfigurationError: a key is unknown or missing, or a value cannot be used.
    """
    check_keys(where, config, {"type", "conf"}, {"type", "conf"})
    kind, conf = config["type"], config["conf"]
    if kind not in ITERATOR_TYPES:
        raise ConfigurationError(f"{where}.type: expected one of {', '.join(ITERATOR_TYPES)}, found {kind!r}")
    own = ITERATOR_TYPES[kind]
    check_keys(f"{where}.conf", conf, {*_CONF, own}, {"dataset_type", "dataset_conf"})
    if conf["dataset_type"] not in DATASET_TYPES:
        raise ConfigurationError(
            f"{where}.conf.dataset_type: expected one of {', '.join(DATASET_TYPES)}, found {conf['dataset_type']!r}"
        )
    # YAML reads 3e7 as text, and 1.2e8 as a number with a fraction.
    conf = {**conf, **{key: _integer(conf[key]) for key in (own, "batches_per_epoch") if key in conf}}
    check_types(f"{where}.conf", conf)
    return own, conf


def _add_groups(dataset: MainDataset, where: str, paths_by_name: Mapping[str, Any]) -> None:
    """Add the tables of groups to a dataset, and keep the utterances that are in all of them."""
    groups = {name: read_tables(check_paths(where, paths)) for name, paths in paths_by_name.items()}
    for table in groups.values():
        dataset.keep(table)
    dataset.group_info = {name: {uid: table[uid] for uid in dataset.ids} for name, table in groups.items()}


def _order(n: int, values: npt.NDArray[np.int64] | None, descending: bool | None) -> npt.NDArray[np.int64]:
    """Return the positions of n utterances, sorted by their lengths if they have some and are to be."""
    if values is None or descending is None:
        return np.arange(n)
    return np.argsort(-values if descending else values, kind="stable")


def _cut_by_length(
    where: str, order: npt.NDArray[np.int64], values: npt.NDArray[np.int64] | None, most: int | None
) -> list[list[int]]:
    if most is None or values is None:
        raise ConfigurationError(f"{where}: block.BlockIterator needs batch_len and data_len")
    return cut_by_sum(order, values, most)


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
        source: what `read_config` takes, or what it returned.
        tokenizer: from the text of a ``tgt_label`` to ids [L]. Without one, a label that equals the store's text or
            phoneme text of its utterance becomes the store's ids, and any other is spelled in the store's vocabulary.
            Texts of ``main_data`` stay texts, since SpeeChain's models tokenize them.
        output: ``"numpy"`` arrays or ``"torch"`` tensors.
        rank: the rank of this process. Ranks share the batches of ``src_data`` that are ``distributed``, and the
            utterances of every batch of ``main_data``.
        world_size: the number of ranks.

    Raises:
        ConfigurationError: a key is unknown or missing, a value cannot be used, a file is missing, mixed files
            contradict each other, or a label cannot be spelled.
    """
    groups = source if isinstance(source, Mapping) else read_config(source)
    check_rank(rank, world_size)
    return {name: IteratorGroup(name, group, tokenizer, output, (rank, world_size)) for name, group in groups.items()}


class IteratorGroup:
    """The iterators of one group.

    A step yields a dict of batches by iterator name, or only the batch if there is one iterator.

    Attributes:
        loaders: the loader of each iterator by name; ``""`` for an iterator without one.
    """

    def __init__(
        self, name: str, config: Mapping[str, Any], tokenizer: Tokenizer | None, output: str, share: tuple[int, int]
    ) -> None:
        named = {"": config} if isinstance(config.get("type"), str) else config
        self.loaders: dict[str, DataLoader[Any]] = {
            key: _build(f"{name}.{key}".rstrip("."), value, tokenizer, output, share, name == "train")
            for key, value in named.items()
        }

    def __len__(self) -> int:
        """Return the number of steps in an epoch: the length of the shortest iterator."""
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
        """Set the epoch of the next iteration in every iterator."""
        for loader in self.loaders.values():
            loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of every iterator."""
        return {name: loader.state_dict() for name, loader in self.loaders.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from the state of a group with the same iterators.

        Raises:
            ConfigurationError: the state has other iterators, or another configuration.
        """
        if set(state) != set(self.loaders):
            raise ConfigurationError(f"load_state_dict: expected iterators {list(self.loaders)}, found {list(state)}")
        for name, loader in self.loaders.items():
            loader.load_state_dict(state[name])


def _build(
    where: str, config: Any, tokenizer: Tokenizer | None, output: str, share: tuple[int, int], shuffle: bool
) -> DataLoader[Any]:
    conf = config.get("conf") if isinstance(config, Mapping) else None
    dataset = conf.get("dataset_conf") if isinstance(conf, Mapping) else None
    if not (isinstance(dataset, Mapping) and "main_data" in dataset):
        return build_loader(where, config, tokenizer, output, share, shuffle=shuffle)
    if tokenizer is not None:
        raise ConfigurationError(f"{where}: texts of main_data stay texts; tokenize the batches, without 'tokenizer'")
    return build_main_data_loader(where, config, output, *share)
