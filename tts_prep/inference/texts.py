"""The frontend of a store: a text becomes the ids that the store would have."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.records.manifest import Manifest
from tts_prep.inference.manifests import manifest_of
from tts_prep.preprocess.configuration.records import Configuration, software_versions
from tts_prep.preprocess.make.phonemizing import TextReader, text_errors
from tts_prep.preprocess.text.vocab import Vocab

_RULES = "tts-prep"
"""The entry of a manifest's software that is the version of our own rules of normalization."""


@dataclass(frozen=True, eq=False)
class Reading:
    """How a text was read.

    Attributes:
        text: the text.
        normalized: the text with numbers and abbreviations in words.
        phonemes: its phonemes as text.
        ids: [n_phonemes] int32, with the start and end symbols and blanks of the store.
        remarks: what a run would count: pairs of a kind, such as ``unknown_symbols``, and a symbol or word.
    """

    text: str
    normalized: str
    phonemes: str
    ids: npt.NDArray[np.int32]
    remarks: tuple[tuple[str, str], ...]


class StoreFrontend:
    """Reads texts as those of a store were read; made by `frontend_of`.

    Attributes:
        vocab: the symbols of the store, and their ids; ``vocab.pad`` is the padding id.
        language: the language of texts without one of their own.
    """

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader
        self.vocab: Vocab = reader.frontend.vocab
        self.language = reader.config.language

    def __repr__(self) -> str:
        return f"<StoreFrontend: {self.language}, {len(self.vocab):,} symbols>"

    def __call__(
        self, text: str, *, language: str | None = None, normalized: bool = False, speaker: str = ""
    ) -> npt.NDArray[np.int32]:
        """Return the ids of a text, [n_phonemes] int32, with the start and end symbols and blanks of the store.

        Args:
            language: the language of the text, where the corpus has one for each row; None uses that of the store.
            normalized: the text has no numbers and abbreviations, as the rows of corpora that are normalized.
            speaker: who speaks it, where the store's dictionary has words of one speaker.

        Raises:
            TextError: there is nothing to speak, or a symbol is not in the table, and the store was made with such
                symbols as errors.
        """
        return self.read(text, language=language, normalized=normalized, speaker=speaker).ids

    def read(self, text: str, *, language: str | None = None, normalized: bool = False, speaker: str = "") -> Reading:
        """Return the ids of a text with each step on the way; arguments and errors as those of a call."""
        with text_errors(self._reader.config, text):
            spoken, phonemes, remarks = self._reader.read(text, language, normalized, speaker)
            return Reading(text, spoken, phonemes, self._reader.frontend.numericalize(phonemes), remarks)


def frontend_of(store: str | os.PathLike[str], *, versions: Literal["same", "any"] = "same") -> StoreFrontend:
    """Return the frontend of a store: the ids of a text are those that the store would have of it.

    Example:
        >>> from tts_prep.inference import frontend_of
        >>> frontend = frontend_of("store")
        >>> frontend.read("Printing.").phonemes
        'pɹˈɪntɪŋ.'

    Args:
        store: the folder of the store, or its ``manifest.json`` alone, under any name.
        versions: ``"same"`` refuses another version of tts-prep, espeak-ng or the frontend's other packages than the
            store was made with, because ids may differ; ``"any"`` takes it.

    Raises:
        ConfigurationError: the phonemes of the store do not come from texts, a version differs, or the frontend has
            other symbols now.
        MissingPackageError: the frontend's package is not installed.
        StoreError: there is no manifest, or it violates ``docs/format.md``.
    """
    if versions not in ("same", "any"):
        raise ConfigurationError(f"versions: expected 'same' or 'any', found {versions!r}")
    manifest, where = manifest_of(store), Path(store)
    config = Configuration.from_dict(where, manifest.configuration)
    if not config.text.has_phonemes:
        raise ConfigurationError(f"{where}: it was made without phonemes (--frontend none), so texts have no ids")
    if config.alignments and config.alignments.get("phonemes") == "alignment":
        raise ConfigurationError(
            f"{where}: its phonemes are the labels of alignments, which no text has; read texts with the dictionary "
            "of the aligner, and look the ids up in the store's vocabulary"
        )
    reader = TextReader(config.text)
    if versions == "same" and (found := [*_other_versions(manifest, reader.frontend.software())]):
        raise ConfigurationError(
            f"{where}: made with {', '.join(found)}, which can read texts in another way; install the versions of the "
            'store, or accept other ids with versions="any" (--versions any)'
        )
    if dict(manifest.vocabulary) != dict(reader.frontend.vocab.as_dict()):
        raise ConfigurationError(
            f"{where}: its table has {len(manifest.vocabulary.get('symbols', ()))} symbols, which are not the "
            f"{len(reader.frontend.vocab)} that this version has for its settings; make the store "
            f"again, or install tts-prep {manifest.software.get(_RULES)}, which has made it"
        )
    return StoreFrontend(reader)


def _other_versions(manifest: Manifest, used: Mapping[str, str]) -> Iterator[str]:
    """Yield a phrase for each version that decides over ids, and is another one in the store."""
    now = {_RULES: software_versions()[_RULES], **used}
    for name, version in now.items():
        made = manifest.software.get(name, "none")
        if made != version:
            yield f"{name} {made} instead of {version}"
