"""The iterators of a configuration, by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataloader import DataLoader
from tts_prep.loader.samplers.ranks import check_rank
from tts_prep.recipes.speechain.configuration import read_config
from tts_prep.recipes.speechain.features_and_labels import Tokenizer, build_loader
from tts_prep.recipes.speechain.iterators import build_main_data_loader


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
        self,
        name: str,
        config: Mapping[str, Any],
        tokenizer: Tokenizer | None,
        output: str,
        share: tuple[int, int],
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
    where: str,
    config: Any,
    tokenizer: Tokenizer | None,
    output: str,
    share: tuple[int, int],
    shuffle: bool,
) -> DataLoader[Any]:
    conf = config.get("conf") if isinstance(config, Mapping) else None
    dataset = conf.get("dataset_conf") if isinstance(conf, Mapping) else None
    if not (isinstance(dataset, Mapping) and "main_data" in dataset):
        return build_loader(where, config, tokenizer, output, share, shuffle=shuffle)
    if tokenizer is not None:
        raise ConfigurationError(f"{where}: texts of main_data stay texts; tokenize the batches, without 'tokenizer'")
    return build_main_data_loader(where, config, output, *share)
