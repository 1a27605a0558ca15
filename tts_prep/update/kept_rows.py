"""The rows of a changed shard, taken over from the store that is replaced."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tts_prep.errors import CorruptStoreError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.remarks import Remarks
from tts_prep.preprocess.audio.mel import mel_statistics
from tts_prep.preprocess.configuration.records import without_lexicon
from tts_prep.preprocess.features.feature import Feature, FeatureInput, FeatureValues, computed, lengths_of
from tts_prep.preprocess.make.examples import Example, row_of
from tts_prep.preprocess.make.feature_inputs import StoredRows, stored_values
from tts_prep.preprocess.make.recordings import read_again, read_as
from tts_prep.preprocess.plan.shard_plans import OldRows, PlannedUtterance
from tts_prep.preprocess.plan.shard_settings import ShardContents, ShardRecipe


class KeptRows:
    """The rows of a changed shard whose values the old store has.

    Args:
        old: where they are.
        recipe: how the new shard is made.
        contents: the contents of its recordings.
    """

    def __init__(self, old: OldRows, recipe: ShardRecipe, contents: ShardContents) -> None:
        self._old, self._recipe, self._contents = old, recipe, contents
        self._shards: dict[int, _OldShard | None] = {}

    def has(self, number: int) -> bool:
        """Return whether the old store has a row with the same key."""
        return self._found(number) is not None

    def _found(self, number: int) -> tuple[_OldShard, int] | None:
        """Return the shard of the row with the same key, and its position there."""
        place = self._old.places[number]
        shard = self._shard(place.shard) if place else None
        if place is None or shard is None or shard.keys[place.position] != self._contents.row_key(number):
            return None
        return shard, place.position

    def example(self, number: int, row: PlannedUtterance, remarks: Remarks) -> Example | None:
        """Return an utterance as the old store has it; None if it has to be made.

        Args:
            number: the number of the row in the new shard.
            remarks: the remarks on the row are added to it.

        Raises:
            UtteranceError: a feature that the old store does not have cannot be computed.
        """
        if not (found := self._found(number)):
            return None
        shard, position = found
        for kind, symbols in shard.stored.header.row_remarks.get(str(position), {}).items():
            for symbol, count in symbols.items():
                remarks.add(kind, symbol, row.utterance.id, count)
        return shard.example(position, row, self._recipe)

    def _shard(self, number: int) -> _OldShard | None:
        if number not in self._shards:
            try:
                shard = _OldShard(self._old.store, number)
                self._shards[number] = shard if shard.is_made_by(self._recipe) else None
            except CorruptStoreError:
                # Its rows are made again.
                self._shards[number] = None
        return self._shards[number]


class _OldShard:
    """A shard of the old store, and the array files of its rows.

    Raises:
        CorruptStoreError: the shard is broken.
    """

    def __init__(self, store: Path, number: int) -> None:
        self.stored = StoredRows.read(store, number)
        self.keys = self.stored.row_keys
        self._store, self._number = store, number
        self._arrays = {name: self.stored.array(name, spec["axis"]) for name, spec in self.stored.header.arrays.items()}
        self._phoneme_texts = self.stored.texts("phoneme_text")
        self._values: dict[str, Sequence[Array] | None] = {}

    def is_made_by(self, recipe: ShardRecipe) -> bool:
        """Return whether the shard was made with the settings of a recipe."""
        header = vars(self.stored.header)
        same = without_lexicon(header["configuration"]) == without_lexicon(recipe.settings["configuration"])
        others = ((name, value) for name, value in recipe.settings.items() if name != "configuration")
        return same and all(header[name] == value for name, value in others)

    def example(self, position: int, row: PlannedUtterance, recipe: ShardRecipe) -> Example:
        """Return one of its utterances."""
        utterance, cleaning = row.utterance, recipe.config.cleaning
        arrays = {name: values[position] for name, values in self._arrays.items()}
        mel = np.ascontiguousarray(arrays["mel"])
        names = ("seconds", *cleaning.columns)
        columns = {name: float(self.stored.numbers(name)[position]) for name in names}
        phoneme_text = self._phoneme_texts[position]
        source = FeatureInput(
            id=utterance.id,
            speaker=utterance.speaker,
            text=utterance.text,
            phoneme_text=phoneme_text,
            phonemes=np.asarray(arrays["phonemes"]),
            n_frames=len(mel),
            extractor=recipe.extractor,
            read=partial(read_again, recipe, utterance, len(mel)),
            known={"mel": mel},
            cut=self.stored.cuts(recipe.config.mel.sample_rate)[position] if cleaning.trims else None,
            read_again=partial(read_as, recipe, utterance),
            row=utterance,
        )
        lengths = lengths_of(arrays)
        values = tuple(
            self._stored_values(feature, source, position) or computed(feature, source, lengths)
            for feature in recipe.features
        )
        of_index = row_of(utterance, phoneme_text, columns)
        return Example(arrays, of_index, mel_statistics(mel), values, self.keys[position])

    def _stored_values(self, feature: Feature, utterance: FeatureInput, position: int) -> FeatureValues | None:
        """Return the values of a feature if the old store has them, made in the same way."""
        restored = getattr(feature, "restored", None)
        if restored is None or feature.source(utterance.id, utterance.speaker) is not None:
            return None
        found = {spec.name: self._array(spec) for spec in feature.specs}
        arrays = {name: values[position] for name, values in found.items() if values is not None}
        values: FeatureValues | None = restored(arrays) if len(arrays) == len(found) else None
        return values

    def _array(self, spec: ArraySpec) -> Sequence[Array] | None:
        if spec.name not in self._values:
            try:
                self._values[spec.name] = stored_values(self._store, spec, self._number, self.stored)
            except CorruptStoreError:
                self._values[spec.name] = None
        return self._values[spec.name]
