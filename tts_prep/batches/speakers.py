"""One speaker table for several stores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.loader.dataset.columns import CategoryValues
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.statistics import RowStatistics
from tts_prep.loader.dataset.store import Store

SpeakerNames: TypeAlias = Literal["name", "dataset"]


def common_codes(tables: Sequence[Sequence[str]], by: SpeakerNames) -> tuple[tuple[str, ...], list[dict[str, int]]]:
    """Return a common speaker table, and for each given table the common code of each name.

    Args:
        tables: the speaker tables, without repeated names.
        by: ``"name"``: equal names are one speaker, and codes index into the sorted names. ``"dataset"``: speakers of
            different tables are different speakers, named ``0/p225``, ``1/p225``; codes follow the first table, then
            the second, and so on.

    Raises:
        ConfigurationError: `by` is neither.
    """
    if by == "name":
        names = tuple(sorted({name for table in tables for name in table}))
        codes = {name: number for number, name in enumerate(names)}
        return names, [{name: codes[name] for name in table} for table in tables]
    if by == "dataset":
        names = tuple(f"{number}/{name}" for number, table in enumerate(tables) for name in table)
        starts = np.cumsum([0, *map(len, tables)]).tolist()
        of_tables = [
            {name: start + i for i, name in enumerate(table)} for table, start in zip(tables, starts, strict=False)
        ]
        return names, of_tables
    raise ConfigurationError(f"speakers: expected 'name' or 'dataset', found {by!r}")


@dataclass(frozen=True, eq=False)
class CommonSpeakers:
    """The speakers of a store in a table that it shares with other stores.

    Attributes:
        store: the store.
        names: the common table: the name for each common code.
        codes: [n_own_speakers] int32, the common code of each code of the store.
    """

    store: Store
    names: tuple[str, ...]
    codes: npt.NDArray[np.int32]

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self.store, "names": self.names, "codes": self.codes}

    @cached_property
    def metadata(self) -> StoreMetadata:
        """The metadata of the store with the common table; speakers of other stores have no frames."""
        store = self.store.metadata
        return replace(
            store,
            speakers=self.names,
            speaker_frames=self._scattered(store.speaker_frames, 0),
            speaker_mel_mean=self._scattered(store.speaker_mel_mean, 0),
            speaker_mel_std=self._scattered(store.speaker_mel_std, 1),
        )

    def statistics(self, own: RowStatistics) -> RowStatistics:
        """Return the statistics of an array with the common table; speakers of other stores have no rows."""
        by_speaker: dict[str, Any] = {
            f"speaker_{name}": self._scattered(getattr(own, f"speaker_{name}"), 0)
            for name in ("count", "mean", "std", "min", "max")
        }
        return replace(own, **by_speaker)

    def values(self, own: CategoryValues) -> CategoryValues:
        """Return the values of the column of speakers with the common table."""
        return CategoryValues(self.codes[own.checked_codes()], self.names)

    def _scattered(self, values: Array, missing: int) -> Array:
        scattered = np.full((len(self.names), *values.shape[1:]), missing, values.dtype)
        scattered[self.codes] = values
        scattered.flags.writeable = False
        return scattered
