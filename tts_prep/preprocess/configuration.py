"""Every setting that the contents of a store depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tts_prep.errors import ConfigurationError
from tts_prep.format.layout import ARRAYS
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.presets import DEFAULT_PRESET, PRESETS
from tts_prep.preprocess.audio.reading import ReadingConfig
from tts_prep.preprocess.text.frontend import DEFAULT_FRONTEND


@dataclass(frozen=True)
class TextConfig:
    """How text becomes phoneme ids.

    Attributes:
        frontend: a name out of `tts_prep.preprocess.text.FRONTENDS`.
        language: as the frontend names languages.
    """

    frontend: str = DEFAULT_FRONTEND
    language: str = "en-us"


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
    """

    corpus: str = "ljspeech"
    limit: int | None = None
    mel: MelConfig = PRESETS[DEFAULT_PRESET]
    reading: ReadingConfig = field(default_factory=ReadingConfig)
    text: TextConfig = field(default_factory=TextConfig)
    store: StoreConfig = field(default_factory=StoreConfig)

    def as_dict(self) -> dict[str, Any]:
        """Return the configuration as it stands in the manifest."""
        return {
            "corpus": {"reader": self.corpus, "limit": self.limit},
            "audio": {**asdict(self.mel), **asdict(self.reading)},
            "text": asdict(self.text),
            "store": asdict(self.store),
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
