"""What goes into a batch, before it is padded: views of the maps, in the order of the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.format.datasets import Array
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.mixture import MixedUtterances, check_agreement
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset


@dataclass(frozen=True, eq=False)
class Unpadded:
    """The utterances of a batch.

    Attributes:
        stores: [B] the metadata of each utterance's store; all agree on what a batch has in common.
        ids: [B].
        indices: [B] rows.
        speakers: [B] codes, by the table that all stores have in common.
        mels: [B] arrays [n_frames, n_mels].
        phonemes: [B] arrays [n_phonemes].
        samples: [B] arrays [n_samples], int16 or float32; None where the stores keep none, or none are wanted.
        arrays: name of each further array that is wanted → [B] arrays.
    """

    stores: Sequence[StoreMetadata]
    ids: list[str]
    indices: Array
    speakers: Array
    mels: list[Array]
    phonemes: list[Array]
    samples: list[Array] | None
    arrays: Mapping[str, list[Array]] = field(default_factory=dict)

    @property
    def store(self) -> StoreMetadata:
        """What holds for all utterances."""
        return self.stores[0]

    @classmethod
    def of(
        cls, utterances: UtteranceDataset | Sequence[Utterance], *, waveform: bool, arrays: Sequence[str] = ()
    ) -> Unpadded:
        """Take what a batch needs of utterances.

        Args:
            utterances: at least one.
            waveform: whether the waveforms are wanted.
            arrays: names of further arrays that are wanted.

        Raises:
            ConfigurationError: they are of stores that do not agree.
            CorruptStoreError: a shard is not what the manifest or the index says.
        """
        if isinstance(utterances, UtteranceDataset):
            found = _of_dataset(utterances, waveform=waveform)
        elif isinstance(utterances, MixedUtterances):
            found = _of_mixture(utterances, waveform=waveform)
        else:
            found = _of_list(utterances, waveform=waveform)
        return replace(found, arrays={name: _arrays(utterances, name) for name in arrays}) if arrays else found


def _of_dataset(dataset: UtteranceDataset, *, waveform: bool) -> Unpadded:
    store, columns = dataset.metadata, dataset.columns
    return Unpadded(
        [store] * len(dataset),
        list(columns.id),
        dataset.indices,
        columns.speaker.checked_codes(),
        dataset.views("mel"),
        dataset.views("phonemes"),
        dataset.views("waveform") if waveform and store.has_waveform else None,
    )


def _of_mixture(utterances: MixedUtterances, *, waveform: bool) -> Unpadded:
    sources = utterances.sources
    stores = [source.store for source in sources]
    _check_waveforms(stores, waveform=waveform)
    kept = waveform and stores[0].has_waveform
    n = len(utterances)

    def ordered(values: Sequence[Sequence[Any]]) -> list[Any]:
        found: list[Any] = [None] * n
        for source, part in zip(sources, values, strict=True):
            for place, value in zip(source.places.tolist(), part, strict=True):
                found[place] = value
        return found

    return Unpadded(
        ordered([[source.store] * len(source.places) for source in sources]),
        ordered([list(source.dataset.columns.id) for source in sources]),
        np.array(ordered([source.dataset.indices.tolist() for source in sources]), np.int64),
        np.array(ordered([source.speakers.tolist() for source in sources]), np.int64),
        ordered([source.dataset.views("mel") for source in sources]),
        ordered([source.dataset.views("phonemes") for source in sources]),
        ordered([source.dataset.views("waveform") for source in sources]) if kept else None,
    )


def _of_list(utterances: Sequence[Utterance], *, waveform: bool) -> Unpadded:
    stores = {id(utterance.store): utterance for utterance in utterances}
    if len(stores) > 1:
        different = list(stores.values())
        metadata = [utterance.store for utterance in different]
        check_agreement(metadata, [f"the store of utterance '{utterance.id}'" for utterance in different])
        for utterance in different[1:]:
            # Codes of another table would look right and mean somebody else.
            if utterance.store.speakers != metadata[0].speakers:
                raise ConfigurationError(
                    f"utterance '{utterance.id}' is from a store with another speaker table than '{different[0].id}'; "
                    "ChainDataset makes one table of several stores"
                )
        _check_waveforms(metadata, waveform=waveform)
    samples = [utterance.waveform for utterance in utterances if utterance.waveform is not None]
    return Unpadded(
        [utterance.store for utterance in utterances],
        [utterance.id for utterance in utterances],
        np.array([utterance.index for utterance in utterances], np.int64),
        np.array([utterance.speaker_code for utterance in utterances], np.int64),
        [utterance.mel for utterance in utterances],
        [utterance.phonemes for utterance in utterances],
        samples if waveform and len(samples) == len(utterances) else None,
    )


def _arrays(utterances: UtteranceDataset | Sequence[Utterance], name: str) -> list[Array]:
    """Return one array of each utterance.

    Raises:
        ConfigurationError: a store has no such array.
    """
    if isinstance(utterances, UtteranceDataset):
        return utterances.views(name)
    missing = next((utterance for utterance in utterances if name not in utterance.arrays), None)
    if missing is not None:
        raise ConfigurationError(
            f"utterance '{missing.id}': its store has no array '{name}'; there are {', '.join(missing.arrays)}"
        )
    return [utterance.arrays[name] for utterance in utterances]


def _check_waveforms(stores: Sequence[StoreMetadata], *, waveform: bool) -> None:
    if waveform and len({store.has_waveform for store in stores}) > 1:
        raise ConfigurationError(
            "some of the stores of a batch keep waveforms and some do not; pass waveform=False, or make all with "
            "--waveform int16"
        )
