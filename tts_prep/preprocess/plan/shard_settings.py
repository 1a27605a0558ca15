"""What shards are made with: one recipe for all of them, and the contents of recordings, which their keys depend on."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import xxhash

from tts_prep import doors
from tts_prep.errors import AudioError
from tts_prep.format.files.checksums import json_sha256, text_sha256
from tts_prep.format.files.paths import file_version, open_regular
from tts_prep.format.layout import FRAME, PHONEME, SAMPLE
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.containers.stream import BrokenRecordingError
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.reading import contents_of, inspect_once
from tts_prep.preprocess.configuration.records import Configuration, make_frontend, software_versions
from tts_prep.preprocess.plan.shard_plans import PlannedUtterance, ShardPlan
from tts_prep.preprocess.source_utterance import SourceUtterance, place_inside, read_inside
from tts_prep.preprocess.text.frontends.frontend import Frontend

if TYPE_CHECKING:
    from tts_prep.format.records.arrays import ArraySpec
    from tts_prep.preprocess.features.feature import CorpusAlignments, Feature


@dataclass(frozen=True)
class ShardRecipe:
    """How all shards of a store are made; sent to the workers.

    Attributes:
        root: the folder of relative audio paths.
        config: the settings of the store.
        software: the versions of the libraries that compute the data.
        arrays: the arrays of the shards, as in their headers.
        vocabulary: the symbols and their ids, as in the headers.
        features: the features of added arrays.
        alignments: the alignments, if they change shards.
    """

    root: Path
    config: Configuration
    software: Mapping[str, str]
    arrays: Mapping[str, Mapping[str, Any]]
    vocabulary: Mapping[str, Any]
    features: tuple[Feature, ...] = ()
    alignments: CorpusAlignments | None = None

    @cached_property
    def extractor(self) -> MelExtractor:
        """The mel extractor of this process."""
        return extractor_of(self.config.mel)

    @cached_property
    def specs(self) -> Mapping[str, ArraySpec]:
        """The specifications of the arrays of the features by name.

        Raises:
            ConfigurationError: two features have an array of the same name.
        """
        if not self.features:
            return {}
        from tts_prep.preprocess.features.feature import specs_of

        return specs_of(self.features)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The fields that are equal in the headers of all shards."""
        return {
            "configuration": self.config.as_dict(),
            "software": self.software,
            "arrays": self.arrays,
            "vocabulary": self.vocabulary,
        }

    @cached_property
    def settings_sha256(self) -> str:
        """SHA-256 of the settings."""
        return json_sha256(self.settings)

    def key(self, plan: ShardPlan) -> str:
        """Return the key of a planned shard."""
        return plan.key(self.settings_sha256)


@lru_cache(maxsize=1)
def extractor_of(config: MelConfig) -> MelExtractor:
    """Return the mel extractor of this process. It is cached, because its tables take longer than a short mel."""
    return MelExtractor(config)


def make_recipe(
    config: Configuration, root: Path, features: tuple[Feature, ...] = (), alignments: CorpusAlignments | None = None
) -> ShardRecipe:
    """Return the recipe of all shards of a store.

    Args:
        root: the folder of relative audio paths.
    """
    arrays, frontend = _arrays(config), make_frontend(config.text)
    software = {
        **software_versions(),
        **frontend.software(),
        **(doors.need("cleaning", "software")() if config.cleaning.trim_vad is not None else {}),
    }
    # Remote workers may have another working directory.
    return ShardRecipe(root.absolute(), config, software, arrays, frontend.vocab.as_dict(), features, alignments)


def _arrays(config: Configuration) -> dict[str, dict[str, Any]]:
    """Return the entries of the arrays of the shards."""
    extractor = extractor_of(config.mel)
    mel: dict[str, Any] = {
        "dtype": config.store.mel_dtype,
        "row_shape": [config.mel.n_mels],
        "axis": FRAME,
        "sample_rate": config.mel.sample_rate,
        "hop_length": config.mel.hop_length,
        "silence": extractor.silence().tolist(),
    }
    if config.store.mel_dtype == "float16":
        mel["offset"] = extractor.half_precision_offset()
    arrays = {"mel": mel, "phonemes": {"dtype": "int32", "row_shape": [], "axis": PHONEME}}
    if config.store.waveform_dtype:
        arrays["waveform"] = {"dtype": config.store.waveform_dtype, "row_shape": [], "axis": SAMPLE}
    return arrays


_MARGIN: Final = 1.0
"""The seconds around an excerpt that belong to its contents, because filters look ahead and back."""

_TABLES: Final = threading.Lock()


def content_of(root: Path, utterance: SourceUtterance, sample_rate: int) -> str:
    """Return the XXH3 of the bytes that an utterance is read from, 128 bits, hexadecimal; empty if there are none.

    These are the bytes of its recording. For an excerpt of a plain file with the sample rate of the store, they are the
    header and the samples from a second before the excerpt to a second after it, as a long recording would be read for
    each shard otherwise.

    Args:
        root: the folder of relative audio paths.
        sample_rate: that of the store, Hz.
    """
    if utterance.then:
        found = [content_of(root, piece, sample_rate) for _, piece in utterance.pieces]
        return "".join(found) if all(found) else ""
    path = root / utterance.audio
    try:
        if (utterance.start, utterance.end) == (0, None):
            return _digest(path, utterance.inside)
        return _digest_of_excerpt(path, utterance, sample_rate)
    except (OSError, ValueError, AudioError):
        # The row fails, and says why.
        return ""


def _digest(path: Path, inside: str) -> str:
    place = place_inside(inside)
    if inside and place is None:
        # Another process reads them, one at a time.
        with _TABLES:
            return xxhash.xxh3_128_hexdigest(read_inside(path, inside))
    start, stop = place or (0, None)
    with open_regular(path) as file:
        return contents_of(file, (start, stop))


@lru_cache(maxsize=2)
def _digest_once(path: Path, inside: str, _version: tuple[int, ...]) -> str:
    return _digest(path, inside)


def _digest_of_excerpt(path: Path, utterance: SourceUtterance, sample_rate: int) -> str:
    if not utterance.inside:
        with open_regular(path) as file:
            try:
                plain = inspect_once(file).plain
            except BrokenRecordingError:
                plain = None
            if plain and plain.sample_rate == sample_rate:
                size = os.fstat(file.fileno()).st_size
                align = (size - plain.position) // max(1, plain.n_samples)
                first = max(0, math.floor((utterance.start - _MARGIN) * sample_rate))
                last = plain.n_samples if utterance.end is None else math.ceil((utterance.end + _MARGIN) * sample_rate)
                begin, end = (plain.position + sample * align for sample in (first, last))
                return contents_of(file, (0, plain.position), (begin, end))
    return _digest_once(path, utterance.inside, file_version(path))


class ShardContents:
    """The contents of the recordings of a shard, each read once, when it is needed.

    Args:
        plan: the plan of the shard.
        recipe: how the shard is made.
        report: called with the number of every row before it is read.
    """

    def __init__(self, plan: ShardPlan, recipe: ShardRecipe, report: Callable[[int], None] = lambda _: None) -> None:
        self._plan, self._recipe, self._report = plan, recipe, report
        self._texts = plan.packed.texts()
        self.rows = plan.packed.rows(self._texts)
        self._found: dict[int, str] = {}

    def of(self, number: int) -> str:
        """Return the contents of a row; empty for a row without a recording, or with one that cannot be read."""
        if number in self._plan.unread:
            return ""
        row = self.rows[number]
        if number not in self._found:
            self._report(number)
            root, rate = self._recipe.root, self._recipe.config.mel.sample_rate
            self._found[number] = content_of(root, row.utterance, rate) if isinstance(row, PlannedUtterance) else ""
        return self._found[number]

    def note(self, number: int, content: str) -> None:
        """Note the contents of a row that has just been read."""
        self._found[number] = content

    def row_key(self, number: int) -> bytes:
        """Return the SHA-256 of what determines the values of a row that is no failure, apart from the settings."""
        row = self.rows[number]
        assert isinstance(row, PlannedUtterance)
        text = f"{self._texts[number]}{self.of(number)}{self._words_of(row.utterance)}"
        return bytes.fromhex(text_sha256(text))

    def _words_of(self, utterance: SourceUtterance) -> str:
        """Return the SHA-256 of the pronunciations that the user's dictionary has for a text; empty without any."""
        config = self._recipe.config.text
        if not config.lexicon:
            return ""
        frontend, words = self._reader
        try:
            text = utterance.text
            if config.normalize and not utterance.normalized:
                text = frontend.normalize(text, utterance.language)
            found = words.found(text, utterance.language or config.language, utterance.speaker)
        except Exception:
            # The row fails, and says why.
            return ""
        return json_sha256(sorted({entry[2:] for entry in found})) if found else ""

    @cached_property
    def _reader(self) -> tuple[Frontend, Any]:
        frontend = make_frontend(self._recipe.config.text)
        return frontend, doors.need("words", "place")(frontend, self._recipe.config.text.lexicon)

    @property
    def key(self) -> str:
        """The key of the shard with the contents of its recordings, which are read only if it is not known."""
        return self._plan.known or self.key_of_made

    @cached_property
    def key_of_made(self) -> str:
        """The key of the shard with the contents of its recordings, as they are read."""
        return json_sha256([self._recipe.key(self._plan), [self.of(number) for number in range(len(self.rows))]])
