"""Plan a store: its recipe, and its shards with their keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from tts_prep import doors
from tts_prep.errors import CorpusError, CorruptStoreError
from tts_prep.format.layout import CORRECTIONS
from tts_prep.format.records.failures import Failure, read_failures
from tts_prep.format.records.sources import Sources
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora.corpus import Corpus, Reader, read_corpus
from tts_prep.preprocess.plan.shard_plans import ShardPlan, plan_shards
from tts_prep.preprocess.plan.shard_settings import ShardContents, ShardRecipe
from tts_prep.preprocess.source_utterance import SourceUtterance


class Corrected(Protocol):
    """The rows of a corpus with corrections, and what was corrected in the rows so far."""

    @property
    def applied(self) -> tuple[Any, ...]:
        """What was corrected."""


def stored_corrections(store: Path) -> Any:
    """Return the `Corrections` that a store was made with; None if it was made with none."""
    return doors.need("corrections", "stored")(store) if os.path.lexists(store / CORRECTIONS) else None


@dataclass(frozen=True)
class CorpusRows:
    """The rows of a corpus, and its recordings.

    Attributes:
        items: the rows, from a corpus reader.
        root: the folder of relative audio paths.
        corrected: those rows before anything else was done with them, if they have corrections.
    """

    items: Iterable[SourceUtterance | Failure] = field(repr=False)
    root: Path
    corrected: Corrected | None = field(default=None, repr=False)

    @classmethod
    def read(
        cls,
        config: Configuration,
        corpus: Path,
        *,
        root: Path | None = None,
        splits: Mapping[str, Path] | None = None,
        report: Callable[[str], None] = lambda _: None,
        reader: Corpus | Reader | None = None,
        corrections: Any = None,
    ) -> CorpusRows:
        """Return the rows of a corpus, read with the settings of a store.

        Args:
            config: the configuration, which has the reader, its options, and whether rows need texts.
            corpus, root, splits, report: see `tts_prep.preprocess.read_corpus`.
            reader: a reader that no package registers.
            corrections: the `Corrections` of what the store shall have otherwise.

        Raises:
            ConfigurationError: the reader is unknown, or does not accept ``root``.
        """
        items, folder = read_corpus(
            config.corpus,
            corpus,
            root=root,
            splits=splits,
            options=config.options,
            texts=config.text.has_phonemes,
            report=report,
            own=reader,
        )
        if corrections is None or not corrections.rows:
            return cls(items, folder)
        corrected = corrections.apply(items)
        return cls(corrected, folder, corrected)


@dataclass(frozen=True)
class PlannedStore:
    """A store that is to be made.

    Attributes:
        recipe: how its shards are made.
        shards: the plans of its shards, in order, at least one.
        corrections: what its rows have otherwise than the corpus.
    """

    recipe: ShardRecipe
    shards: tuple[ShardPlan, ...]
    corrections: tuple[Any, ...] = ()

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The planned keys of all shards, in order."""
        return tuple(self.recipe.key(plan) for plan in self.shards)

    @property
    def known(self) -> tuple[str, ...]:
        """The keys of all shards with the contents of recordings; empty texts where they are not known."""
        return tuple(plan.known for plan in self.shards)

    @property
    def sources(self) -> Sources:
        """What is known of the shards."""
        pairs = zip(self.keys, self.shards, strict=True)
        return Sources({key: (plan.packed.versions, plan.known) for key, plan in pairs if plan.known})

    def with_known(self, sources: Sources) -> PlannedStore:
        """Return the store with the keys of shards whose recordings have the same sizes and times as before."""
        found = [sources.shards.get(key, ("", "")) for key in self.keys]
        return self.made(
            key if versions == plan.packed.versions else ""
            for plan, (versions, key) in zip(self.shards, found, strict=True)
        )

    def with_contents(self) -> PlannedStore:
        """Return the store with the keys of all shards; the recordings of those that are not known are read."""
        # Reading and hashing release Python's lock.
        with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
            return self.made(threads.map(lambda plan: ShardContents(plan, self.recipe).key, self.shards))

    def made(self, keys: Iterable[str]) -> PlannedStore:
        """Return the store with the keys with which its shards were made."""
        shards = (replace(plan, known=key) for plan, key in zip(self.shards, keys, strict=True))
        return replace(self, shards=tuple(shards))

    def has_places_of(self, store: Path, n_failures: int) -> bool:
        """Return whether the failed rows of a store with these shards are still where they were in the corpus."""
        try:
            failed = {(failure.id, failure.where) for failure in read_failures(store, n_failures)}
        except CorruptStoreError:
            # This is for `verify` to say.
            return True
        return not failed or failed <= {place for plan in self.shards for place in plan.places}

    @property
    def n_rows(self) -> int:
        """The number of all rows, including failed ones."""
        return sum(plan.n_rows for plan in self.shards)


def plan_store(
    corpus: CorpusRows, recipe: ShardRecipe, planned: Callable[[int], None] = lambda _: None
) -> PlannedStore:
    """Read a corpus, and plan the shards of its store. Lists of the corpus are features of its recipe.

    Args:
        planned: called with the number of planned shards after each of them.

    Raises:
        CorpusError: the corpus has no rows, or a column with a name that is not allowed.
    """
    config, alignments = recipe.config, recipe.alignments
    items = alignments.with_checksums(corpus.items) if alignments else corpus.items
    plans: list[ShardPlan] = []
    lists: dict[str, Mapping[str, Any]] = {}
    rows = _noting_lists(islice(items, config.limit), lists)
    for plan in plan_shards(rows, corpus.root, config.store):
        plans.append(plan)
        planned(len(plans))
    if not plans:
        raise CorpusError(f"{corpus.root}: no rows, expected one per recording")
    if taken := sorted(plans[0].columns.keys() & set(config.cleaning.columns)):
        raise CorpusError(f"{corpus.root}: a corpus may not name a column '{taken[0]}' where cleaning does; rename it")
    if lists:
        listed = doors.need("lists", "listed")(recipe.root, lists)
        recipe = replace(recipe, features=(*recipe.features, listed))
    return PlannedStore(recipe, tuple(plans), corpus.corrected.applied if corpus.corrected else ())


def _noting_lists(
    items: Iterable[SourceUtterance | Failure], lists: dict[str, Mapping[str, Any]]
) -> Iterator[SourceUtterance | Failure]:
    """Yield rows, and collect an entry of each of their lists."""
    for item in items:
        if isinstance(item, SourceUtterance):
            lists.update(item.lists)
        yield item
