"""The utterances of a batch before padding: views of memory maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tts_prep.errors import NO_WAVEFORMS, ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.loader.dataset.metadata import StoreMetadata, check_agreement, check_array_agreement
from tts_prep.loader.dataset.store import ROW_ARRAYS
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import RowsOfStores, UtteranceDataset


@dataclass(frozen=True, eq=False)
class Unpadded:
    """The utterances of a batch before padding.

    Attributes:
        stores: [B] the metadata of each utterance's store, with equal settings.
        ids: [B] utterance ids.
        indices: [B] rows of the utterances in their stores.
        speakers: [B] codes in the speaker table common to all stores.
        mels: [B] arrays [n_frames, n_mels]: float32, or float16 without the ``mel_offset`` of their store.
        phonemes: [B] arrays [n_phonemes].
        samples: [B] arrays [n_samples], int16 or float32; None if the stores have no waveforms or none are requested.
        arrays: [B] arrays by name of the requested further array.
        specs: the specification of each further array, in the first store.
    """

    stores: Sequence[StoreMetadata]
    ids: list[str]
    indices: Array
    speakers: Array
    mels: list[Array]
    phonemes: list[Array]
    samples: list[Array] | None
    arrays: Mapping[str, list[Array]] = field(default_factory=dict)
    specs: Mapping[str, ArraySpec] = field(default_factory=dict)

    @property
    def store(self) -> StoreMetadata:
        """The metadata of the first store, whose settings are those of all."""
        return self.stores[0]

    @classmethod
    def of(
        cls, utterances: UtteranceDataset | Sequence[Utterance], *, waveform: bool | None, arrays: Sequence[str] = ()
    ) -> Unpadded:
        """Look up the arrays of utterances.

        Args:
            utterances: at least one.
            waveform: include waveforms; None if the stores have them.
            arrays: names of further arrays to include.

        Raises:
            ConfigurationError: there are no utterances, or their stores do not match.
            CorruptStoreError: a shard contradicts the manifest or the index.
        """
        if not len(utterances):
            raise ConfigurationError("cannot collate an empty batch; is the dataset empty?")
        if isinstance(utterances, UtteranceDataset):
            unpadded = _at_places(utterances, waveform) or _of_dataset(utterances, waveform)
        else:
            placed = _at_places(utterances, waveform) if isinstance(utterances, RowsOfStores) else None
            unpadded = placed or _of_list(utterances, waveform)
        if not arrays:
            return unpadded
        found = {name: _array(utterances, name) for name in arrays}
        return replace(
            unpadded,
            arrays={name: views for name, (views, _) in found.items()},
            specs={name: spec for name, (_, spec) in found.items()},
        )


def _of_dataset(dataset: UtteranceDataset, waveform: bool | None) -> Unpadded:
    store, rows, metadata = dataset._store, dataset.indices, [dataset.metadata] * len(dataset)
    ids: Any = store.column("id")
    return Unpadded(
        metadata,
        ids.take(rows),
        rows,
        dataset.columns.speaker.checked_codes(),
        store.views("mel", rows),
        store.views("phonemes", rows),
        store.views("waveform", rows) if _with_waveforms(metadata[:1], waveform) else None,
    )


def _at_places(batch: UtteranceDataset | RowsOfStores, waveform: bool | None) -> Unpadded | None:
    """Return the utterances as the tables of their stores say; None if that takes more than the tables."""
    places = batch._places()
    if places is None:
        return None
    datasets = batch._datasets  # one of all rows, or one of each
    times, columns = len(places) // len(datasets), places.T.tolist()
    stores, common = [of._store for of in datasets], [of._speakers for of in datasets]
    metadata = [(table or store).metadata for table, store in zip(common, stores, strict=True)]

    def views(name: str) -> list[Array]:
        at = ROW_ARRAYS[name]
        found = zip([of._arrays[name] for of in stores] * times, columns[0], columns[at], columns[at + 1], strict=True)
        return [arrays[shard][start:stop] for arrays, shard, start, stop in found]

    try:
        texts = zip([of.id_bytes for of in stores] * times, columns[2], columns[3], strict=True)
        ids = [text[start:stop].decode() for text, start, stop in texts]
        codes = places[:, 1]
        if any(common):
            tables = zip(common * times, columns[1], strict=True)
            codes = np.array([code if of is None else of.codes[code] for of, code in tables], np.int64)
        samples = views("waveform") if _with_waveforms(metadata, waveform) else None
        return Unpadded(metadata * times, ids, batch.indices, codes, views("mel"), views("phonemes"), samples)
    except (KeyError, UnicodeDecodeError):  # a file is not mapped yet, or an error is to be raised
        return None


def _of_list(utterances: Sequence[Utterance], waveform: bool | None) -> Unpadded:
    for example in utterances:
        if not isinstance(example, Utterance):
            raise ConfigurationError(
                f"expected utterances of a store, found an example of the type {type(example).__name__}; pass a "
                "collate_fn for such examples"
            )
    stores = {id(utterance.store): utterance for utterance in utterances}
    if len(stores) > 1:
        different = list(stores.values())
        several = [utterance.store for utterance in different]
        if len({store.agreement for store in several}) > 1:
            check_agreement(several, [f"the store of utterance '{utterance.id}'" for utterance in different])
        for utterance in different[1:]:
            # A code of another table would silently stand for another speaker.
            speakers = utterance.store.speakers
            if speakers is not several[0].speakers and speakers != several[0].speakers:
                raise ConfigurationError(
                    f"utterance '{utterance.id}' is from a store with another speaker table than '{different[0].id}'; "
                    "ChainDataset merges the speaker tables of several stores"
                )
    kept = _with_waveforms([utterance.store for utterance in stores.values()], waveform)
    samples = [utterance.waveform for utterance in utterances if utterance.waveform is not None] if kept else []
    return Unpadded(
        [utterance.store for utterance in utterances],
        [utterance.id for utterance in utterances],
        np.array([utterance.index for utterance in utterances], np.int64),
        np.array([utterance.speaker_code for utterance in utterances], np.int64),
        [utterance._stored_mel for utterance in utterances],
        [utterance.phonemes for utterance in utterances],
        samples if kept and len(samples) == len(utterances) else None,
    )


def _array(utterances: UtteranceDataset | Sequence[Utterance], name: str) -> tuple[list[Array], ArraySpec]:
    """Return one array of each utterance, and its specification.

    Raises:
        ConfigurationError: a store has no such array, or their arrays do not match.
    """
    if isinstance(utterances, UtteranceDataset):
        return utterances.views(name), utterances.arrays[name]
    missing = next((utterance for utterance in utterances if name not in utterance.arrays), None)
    if missing is not None:
        raise ConfigurationError(
            f"utterance '{missing.id}': its store has no array '{name}'; it has {', '.join(missing.arrays)}"
        )
    specs = [utterance.arrays.specs[name] for utterance in utterances]
    check_array_agreement(name, specs, [f"the store of utterance '{utterance.id}'" for utterance in utterances])
    return [utterance.arrays[name] for utterance in utterances], specs[0]


def _with_waveforms(stores: Sequence[StoreMetadata], waveform: bool | None) -> bool:
    """Return whether a batch has waveforms.

    Raises:
        ConfigurationError: they are required, or some stores have them, and some do not.
    """
    have = {store.has_waveform for store in stores}
    if waveform and have == {False}:
        raise ConfigurationError(f"waveform=True: {NO_WAVEFORMS}")
    if waveform is not False and len(have) > 1:
        raise ConfigurationError(
            f"some stores of a batch have waveforms; pass waveform=False, or, of the others: {NO_WAVEFORMS}"
        )
    return waveform is not False and have == {True}
