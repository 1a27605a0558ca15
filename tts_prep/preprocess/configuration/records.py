"""Every setting that the contents of a store depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError
from tts_prep.format.checksums import file_sha256
from tts_prep.format.layout import ARRAYS
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.presets import DEFAULT_PRESET, get_preset
from tts_prep.preprocess.audio.reading import ReadingConfig
from tts_prep.preprocess.text.frontends.frontend import PUNCTUATION_STYLES, Frontend, check_choice
from tts_prep.preprocess.text.frontends.registry import default_frontend, get_frontend
from tts_prep.preprocess.text.vocab import BLANKS, UNKNOWN_POLICIES


@dataclass(frozen=True)
class TextConfig:
    """How text becomes phoneme ids.

    Attributes:
        frontend: a name out of `tts_prep.preprocess.text.FRONTENDS`, or several by language; None for the language's.
        language: as the frontend names languages; a corpus may name another one for an utterance.
        normalize: put written English into words, where the corpus does not say that it has been done.
        symbols: the name of a table, or one of the user's own, where the position is the id; None for the frontend's.
            ``"auto"`` stands for a table that is still to be collected from the corpus.
        unknown: what becomes of a symbol that is not in the vocabulary: ``error``, ``unk`` or ``drop``.
        punctuation: ``attached`` or ``separate``, None as the frontend has it.
        ends: put the table's start and end symbols around the ids of every text; None as the table's system does.
        blanks: put blanks into the ids: ``between`` symbols, or ``around`` them too; ``none``.
    """

    frontend: str | None = None
    language: str = "en-us"
    normalize: bool = True
    symbols: str | tuple[str, ...] | None = None
    unknown: str = "error"
    punctuation: str | None = None
    ends: bool | None = None
    blanks: str = "none"

    def __post_init__(self) -> None:
        check_choice("unknown", self.unknown, UNKNOWN_POLICIES)
        check_choice("blanks", self.blanks, BLANKS)
        check_choice("punctuation", self.punctuation or PUNCTUATION_STYLES[0], PUNCTUATION_STYLES)

    @property
    def frontend_name(self) -> str:
        """The frontend that is used: the one that was asked for, or that of the language."""
        return self.frontend or default_frontend(self.language)


def make_frontend(config: TextConfig) -> Frontend:
    """Return a frontend of these settings.

    Raises:
        ConfigurationError: there is no frontend of that name, or it cannot have these settings.
    """
    return get_frontend(
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
    """A file of out-of-domain texts: the store depends on its bytes, not on where it lies."""

    path: Path
    sha256: str

    @classmethod
    def of(cls, path: Path) -> OodConfig:
        """Return a file with the checksum of its bytes.

        Raises:
            ConfigurationError: it cannot be read.
        """
        try:
            return cls(path, file_sha256(path))
        except OSError as error:
            raise ConfigurationError(f"ood-texts: {path}: cannot be read ({error.strerror})") from error


@dataclass(frozen=True)
class StoreConfig:
    """How the arrays are stored.

    Attributes:
        mel_dtype: ``float32`` or ``float16``.
        waveform_dtype: ``int16`` or ``float32`` to keep the waveform beside the mel, None to keep none.
        shard_utterances: most utterances in a shard.
        shard_bytes: a shard is closed once its recordings have this many bytes: it bounds a worker's memory.
    """

    mel_dtype: str = "float32"
    waveform_dtype: str | None = None
    shard_utterances: int = 128
    shard_bytes: int = 64 << 20

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
            raise ConfigurationError("shard_utterances, shard_bytes: expected numbers over 0")


@dataclass(frozen=True)
class Configuration:
    """The whole of it; frozen in every shard and in the manifest.

    Attributes:
        corpus: name of the reader.
        limit: only the first so many utterances, None for all.
        options: of the reader, where it was given any: name → value.
        ood_texts: out-of-domain texts to phonemize into the store, None for none.
        splits: name of a split → the SHA-256 of its list of ids, where the corpus was given any.
        preset: name of the preset that the settings began with, None for none.
        alignments: settings of `tts_prep.preprocess.features.alignments.alignment.AlignmentConfig`, where alignments
            give the phonemes, or cut recordings or mels; None where they change nothing in the shards.
    """

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

    def as_dict(self) -> dict[str, Any]:
        """Return the configuration as it stands in the manifest."""
        return {
            "preset": self.preset,
            "corpus": {
                "reader": self.corpus,
                "limit": self.limit,
                **self.options,
                **({"splits": dict(self.splits)} if self.splits else {}),
            },
            "audio": {**asdict(self.mel), **asdict(self.reading)},
            "text": {
                **asdict(self.text),
                "frontend": self.text.frontend_name,
                "symbols": list(self.text.symbols) if isinstance(self.text.symbols, tuple) else self.text.symbols,
                "ood_texts": self.ood_texts.sha256 if self.ood_texts else None,
            },
            "store": asdict(self.store),
            **({"alignments": dict(self.alignments)} if self.alignments is not None else {}),
        }


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield what differs between two configurations, one phrase a setting."""
    for key in sorted({*old, *new}):
        a, b = old.get(key), new.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from differences(a, b, f"{prefix}{key}.")
        elif a != b:
            yield f"{prefix}{key} is {_shown(a)} in the store and {_shown(b)} now"


def _shown(value: object) -> str:
    text = "not set" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "…"
