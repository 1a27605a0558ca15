"""The settings and the software that determine the contents of a store."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import h5py

from tts_prep import __version__, doors
from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.layout import ARRAYS
from tts_prep.preprocess.audio.cleaning import CleaningConfig
from tts_prep.preprocess.audio.config import Compression, MelConfig, ReadingConfig
from tts_prep.preprocess.audio.presets import DEFAULT_PRESET, get_preset
from tts_prep.preprocess.text.frontends import frontend as frontends
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.symbols import TABLES, RecordedTable
from tts_prep.preprocess.text.vocab import BLANKS, UNKNOWN_POLICIES
from tts_prep.quantities import ShownRecord

Pronunciation: TypeAlias = tuple[str, str, str | None] | tuple[str, str, str | None, str]
"""A word in lower case, its phones as the frontend writes them, the language in which it has them (None is any), and
who says it so, if not all speakers do."""


MARKS_POLICIES: Final = ("remove", "error", "phones", "text")
"""What becomes of marks in texts that are not speech."""


def _marks() -> str:
    """Return what becomes of marks by default: where no room reads them, they are text, and the store says so."""
    return MARKS_POLICIES[0] if doors.row("words", "marks") else "text"


@dataclass(frozen=True, repr=False)
class TextConfig(ShownRecord):
    """The settings of the text frontend.

    Attributes:
        frontend: one of those of 'tts-prep frontends', or several by language; None selects by language.
        language: the language, in the frontend's terms; a corpus can set another language per utterance.
        normalize: normalize texts that the corpus does not mark as normalized.
        symbols: the name of a table, the symbols themselves in the order of ids, the table of a voice, or the file of a
            tokenizer; None uses the frontend's table. ``"auto"`` means that the table is collected from the corpus.
        unknown: the treatment of symbols that are not in the vocabulary: ``error``, ``unk`` or ``drop``.
        punctuation: ``attached`` or ``separate``; None uses the frontend's default.
        ends: add the table's start and end symbols to every text; None does so if the table's system does.
        blanks: insert blanks into the ids: ``between`` symbols, ``around`` (also at both ends), after the ``groups`` of
            a voice, or ``none``.
        lexicon: a user's pronunciations of words.
        heteronyms: read words with two pronunciations, such as English "close", by the words around them; None does so
            with espeak-ng, unless the named table or the voice is of a system that does not.
        marks: what becomes of marks that are not speech, such as ``<b>``: ``remove``, ``error``, ``phones`` (phones in
            the text are read) or ``text``.
    """

    frontend: str | None = None
    language: str = "en-us"
    normalize: bool = True
    symbols: str | tuple[str, ...] | RecordedTable | None = None
    unknown: str = "error"
    punctuation: str | None = None
    ends: bool | None = None
    blanks: str = "none"
    lexicon: tuple[Pronunciation, ...] = ()
    heteronyms: bool | None = None
    marks: str = field(default_factory=_marks)

    def __post_init__(self) -> None:
        frontends.check_choice("unknown", self.unknown, UNKNOWN_POLICIES)
        frontends.check_choice("marks", self.marks, MARKS_POLICIES)
        frontends.check_choice("blanks", self.blanks, BLANKS)
        frontends.check_choice(
            "punctuation", self.punctuation or frontends.PUNCTUATION_STYLES[0], frontends.PUNCTUATION_STYLES
        )

    @property
    def frontend_name(self) -> str:
        """The name of the frontend: the configured one, or the default of the language."""
        return self.frontend or frontends.default_frontend(self.language)

    @property
    def has_phonemes(self) -> bool:
        """Whether texts become phonemes at all, so that recordings need texts."""
        return self.frontend_name != frontends.NO_PHONEMES

    @property
    def reads_heteronyms(self) -> bool:
        """Whether rules choose between two pronunciations of a word; the frontend ``arpabet`` does that itself."""
        code = subtags(self.language)[0]
        names = [name.strip().rpartition("=") for name in self.frontend_name.split(",")]
        used = {name for language, _, name in names if not language or subtags(language)[0] == code}
        has_rules = doors.row("heteronyms", code) and doors.row("words", "place")
        if self.heteronyms is False or used != {frontends.ANY_LANGUAGE} or not has_rules:
            return False
        system = TABLES.get(self.symbols) if isinstance(self.symbols, str) else self.symbols
        return bool(self.heteronyms) or getattr(system, "heteronyms", True)


def make_frontend(config: TextConfig) -> frontends.Frontend:
    """Return the frontend for these settings.

    Raises:
        ConfigurationError: the frontend does not exist, or does not support these settings.
    """
    return frontends.get_frontend(
        config.frontend_name,
        language=config.language,
        symbols=config.symbols,
        unknown=config.unknown,
        punctuation=config.punctuation,
        ends=config.ends,
        blanks=config.blanks,
    )


@dataclass(frozen=True)
class OodConfig:
    """A file of out-of-domain texts. Only its bytes, not its path, affect the store."""

    path: Path
    sha256: str

    @classmethod
    def of(cls, path: Path) -> OodConfig:
        """Return the path with the checksum of the file.

        Raises:
            ConfigurationError: the file cannot be read.
        """
        try:
            return cls(path, file_sha256(path))
        except OSError as error:
            raise ConfigurationError(f"ood-texts: {path}: cannot be read ({error.strerror})") from error


BY_IDS: Final = "ids"
"""The ends of shards depend on the rows around them."""


@dataclass(frozen=True, repr=False)
class StoreConfig(ShownRecord):
    """The settings of stored arrays and shards.

    Attributes:
        mel_dtype: ``float32`` or ``float16``.
        waveform_dtype: ``int16`` or ``float32`` to store waveforms; None stores none.
        shard_utterances: the number of utterances in a shard; it has more than half and at most twice as many.
        shard_bytes: likewise the bytes of its recordings, which bounds the memory of a worker; a shard has fewer
            utterances where they are large.
        shard_ends: how the ends of shards are found: ``ids``, see `tts_prep.preprocess.plan.shard_plans`.
    """

    mel_dtype: str = "float32"
    waveform_dtype: str | None = None
    shard_utterances: int = 128
    shard_bytes: int = 64 << 20
    shard_ends: str = BY_IDS

    def __post_init__(self) -> None:
        if self.mel_dtype not in ARRAYS["mel"].dtypes:
            raise ConfigurationError(
                f"mel_dtype: expected one of {', '.join(ARRAYS['mel'].dtypes)}, found {self.mel_dtype!r}"
            )
        if self.waveform_dtype not in (None, *ARRAYS["waveform"].dtypes):
            raise ConfigurationError(
                f"waveform_dtype: expected one of {', '.join(ARRAYS['waveform'].dtypes)}, found {self.waveform_dtype!r}"
            )
        if self.shard_utterances < 1 or self.shard_bytes < 1:
            raise ConfigurationError("shard_utterances, shard_bytes: expected integers >= 1")
        if self.shard_ends != BY_IDS:
            raise ConfigurationError(f"shard_ends: expected {BY_IDS}, found {self.shard_ends!r}")


@dataclass(frozen=True, repr=False)
class Configuration(ShownRecord):
    """All settings of a store, recorded in every shard and in the manifest.

    Attributes:
        corpus: the name of the corpus reader.
        limit: the maximum number of rows to read; None reads all.
        options: the options of the reader by name.
        ood_texts: out-of-domain texts to phonemize into the store, or None.
        splits: the SHA-256 of each split's list of ids by name.
        preset: the name of the preset, or None.
        alignments: settings of alignments, if they define the phonemes, or cut recordings or mels; None if they do not
            change shards.
        cleaning: how recordings are cleaned before their mels are made.
    """

    ALWAYS = ("corpus", "mel", "preset")

    corpus: str = "ljspeech"
    limit: int | None = None
    mel: MelConfig = get_preset(DEFAULT_PRESET).config
    reading: ReadingConfig = get_preset(DEFAULT_PRESET).reading
    text: TextConfig = field(default_factory=TextConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    options: Mapping[str, Any] = field(default_factory=dict)
    ood_texts: OodConfig | None = None
    splits: Mapping[str, str] = field(default_factory=dict)
    preset: str | None = DEFAULT_PRESET
    alignments: Mapping[str, Any] | None = None
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)

    def __post_init__(self) -> None:
        self.cleaning.check(self.mel.sample_rate, self.mel.peak if self.mel.peak_mode != "limit" else None)
        if self.cleaning.trims and self.alignments and self.alignments["silences"] == "cut":
            raise ConfigurationError(
                "durations: silences=cut trims by the alignment, trim_db and trim_vad trim too; leave one of them out"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the configuration as in the manifest."""
        return {
            "preset": self.preset,
            "corpus": {
                "reader": self.corpus,
                "limit": self.limit,
                **self.options,
                **({"splits": dict(self.splits)} if self.splits else {}),
            },
            "audio": {**self.mel.as_dict(), **self.reading.as_dict()},
            "text": {
                **_text_json(self.text),
                "frontend": self.text.frontend_name,
                "symbols": _symbols_json(self.text.symbols),
                "ood_texts": self.ood_texts.sha256 if self.ood_texts else None,
            },
            "store": asdict(self.store),
            **({"alignments": dict(self.alignments)} if self.alignments is not None else {}),
            **({"cleaning": cleaning} if (cleaning := self.cleaning.as_dict()) else {}),
        }

    @classmethod
    def from_dict(cls, store: Path, value: Mapping[str, Any]) -> Configuration:
        """Parse the result of `as_dict`. The path of out-of-domain texts is not in it: it becomes an empty one.

        Args:
            store: the store that it was read from, for messages.

        Raises:
            StoreError: settings are unknown to this version, or missing.
        """
        try:
            audio = dict(value["audio"])
            audio["compression"] = Compression(**audio["compression"])
            reading = {"channel": audio.pop("channel")}
            reading |= {part.name: audio.pop(part.name) for part in fields(ReadingConfig) if part.name in audio}
            corpus, text = dict(value["corpus"]), dict(value["text"])
            ood_texts, symbols = text.pop("ood_texts"), text.pop("symbols")
            entries = text.pop("lexicon", ())
            text["lexicon"] = tuple((str(word), str(phones), code, *who[:1]) for word, phones, code, *who in entries)
            splits = dict(corpus.pop("splits", {}))
            return cls(
                corpus=corpus.pop("reader"),
                limit=corpus.pop("limit"),
                mel=MelConfig(**audio),
                reading=ReadingConfig(**reading),
                text=TextConfig(
                    **{"heteronyms": False, "marks": MARKS_POLICIES[0], **text}, symbols=_symbols_of(symbols)
                ),
                store=StoreConfig(**value["store"]),
                options=corpus,
                ood_texts=OodConfig(Path(), ood_texts) if ood_texts else None,
                splits=splits,
                preset=value.get("preset"),
                alignments=value.get("alignments"),
                cleaning=CleaningConfig(**value.get("cleaning", {})),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{store}: its settings do not match this version ({error}); make it again") from error


def _text_json(text: TextConfig) -> dict[str, Any]:
    settings = asdict(text) | {"heteronyms": text.reads_heteronyms}
    lexicon = [list(entry) for entry in settings.pop("lexicon")]
    # Stores that were made before have neither.
    settings |= {"heteronyms": True} if settings.pop("heteronyms") else {}
    if settings["marks"] == MARKS_POLICIES[0]:
        del settings["marks"]
    return settings | ({"lexicon": lexicon} if lexicon else {})


def without_lexicon(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration but for pronunciations of words, which are in the keys of the rows that have them."""
    text = {name: value for name, value in configuration["text"].items() if name != "lexicon"}
    return {**configuration, "text": text}


def _symbols_json(symbols: str | tuple[str, ...] | RecordedTable | None) -> Any:
    if isinstance(symbols, RecordedTable):
        return symbols.as_dict()
    return list(symbols) if isinstance(symbols, tuple) else symbols


def _symbols_of(value: Any) -> Any:
    """Return the result of `_symbols_json` as the symbols that it was."""
    if isinstance(value, Mapping):
        return doors.need("symbols", "tokenizer" if "packed" in value else "voice")(value)
    return tuple(value) if isinstance(value, list) else value


# The libraries that read, resample and transform audio; numba compiles the kernels.
_PACKAGES = ("numpy", "scipy", "librosa", "numba", "soundfile", "soxr")

FUSED_MULTIPLY_ADD = "fused multiply-add"


def fused_multiply_add() -> str:
    """Return ``yes`` if the mel kernel is compiled with fused multiply-add (a·b + c with one rounding), else ``no``.

    It changes about one mel value in ten, by up to 1e-6. The environment variables below make numba compile for another
    processor.
    """
    features, name = os.environ.get("NUMBA_CPU_FEATURES"), os.environ.get("NUMBA_CPU_NAME")
    if platform.machine().lower() in ("aarch64", "arm64"):
        return "yes"
    if features is not None:
        return "yes" if "+fma" in features.split(",") else "no"
    if name == "generic":
        return "no"
    import llvmlite.binding

    return "yes" if llvmlite.binding.get_host_cpu_features().get("fma") else "no"


@cache
def _versions_of_packages() -> Mapping[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in _PACKAGES}


def software_versions() -> dict[str, str]:
    """Return the versions of this package and of the libraries that compute audio and write files, by name."""
    import soundfile

    return {
        "tts-prep": __version__,
        FUSED_MULTIPLY_ADD: fused_multiply_add(),
        **_versions_of_packages(),
        "libsndfile": soundfile.__libsndfile_version__,
        "hdf5": h5py.version.hdf5_version,
    }
