"""Build a configuration from a preset, a file, the corpus and single settings, in increasing priority."""

from __future__ import annotations

import contextlib
import difflib
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

from tts_prep import doors
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.files.paths import read_regular
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.audio.cleaning import CleaningConfig
from tts_prep.preprocess.audio.config import Compression, MelConfig, ReadingConfig
from tts_prep.preprocess.audio.presets import DEFAULT_PRESET, get_preset
from tts_prep.preprocess.configuration.records import Configuration, OodConfig, StoreConfig, TextConfig, make_frontend
from tts_prep.preprocess.corpora.corpus import get_corpus, read_corpus
from tts_prep.preprocess.corpora.lines import split_checksums
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.preprocess.text.frontends.frontend import ANY_LANGUAGE, NO_PHONEMES, default_frontend
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.symbols import RecordedTable, choose_symbols
from tts_prep.toml_files import parse_toml

_TABLES = {
    "audio": (MelConfig, ReadingConfig),
    "cleaning": (CleaningConfig,),
    "text": (TextConfig,),
    "store": (StoreConfig,),
}
"""The records of the settings in each table of a file."""

_NONE_IS_A_VALUE = ("frontend",)
_MAX_BYTES: Final = 1 << 18
"""The maximum length of a file of settings; those of presets have some thousand bytes."""


@dataclass(frozen=True)
class ConfigFile:
    """A TOML file: ``preset``, the tables ``audio`` (``audio.compression``), ``cleaning``, ``text`` and ``store``."""

    path: Path
    tables: Mapping[str, Any]


def read_config_file(path: Path) -> ConfigFile:
    """Read a file of settings.

    Raises:
        ConfigurationError: the file cannot be read or is not TOML.
    """
    try:
        text = read_regular(path, _MAX_BYTES).decode("utf-8")
        return ConfigFile(path, parse_toml(text))
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        # Errors of TOML and of UTF-8, and integers of thousands of digits.
        raise ConfigurationError(f"{path}: not TOML: {error}; 'tts-prep presets NAME' prints an example") from error


def configure(
    corpus: str,
    *,
    limit: int | None = None,
    preset: str | None = None,
    vocoder: Path | None = None,
    file: Path | ConfigFile | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    options: Mapping[str, Any] | None = None,
    splits: Mapping[str, Path] | None = None,
    text: Mapping[str, Any] | None = None,
    like: Configuration | None = None,
) -> Configuration:
    """Return the configuration of a run.

    Example:
        >>> from tts_prep.preprocess import configure
        >>> config = configure("ljspeech", preset="hifigan", settings={"cleaning": {"trim_db": 40}})
        >>> config.mel.hop_length, config.cleaning.trim_db
        (256, 40.0)

    Args:
        corpus: the name of the corpus reader.
        limit: the maximum number of rows to read; None reads all.
        preset: the name of a preset; defaults to that in ``file``, or to ``parakeet``. A preset can also have settings
            of ``reading`` and ``text``.
        vocoder: the configuration file of a vocoder or model, instead of a preset.
        file: a TOML file of settings, which override the preset.
        settings: settings by table (``audio``, ``cleaning``, ``text``, ``store``) and name, which override the file.
            ``text.symbols`` is the name of a table, ``"auto"`` or a path; ``text.ood_texts`` is a path. Paths in a file
            are relative to its folder.
        options: the options of the reader.
        splits: a file of ids for each split, by name.
        text: settings of ``text`` that follow from the corpus; the preset, the file and ``settings`` override them.
        like: the configuration of a store, instead of the defaults and ``text``; with the same corpus reader, its limit
            and options too.

    Raises:
        ConfigurationError: a setting does not exist or has an invalid value, a file cannot be read, or both a preset
            and a vocoder are given.
    """
    layers = [_Layer("", settings or {}, Path())]
    if file is not None:
        layer, named = _layer(file if isinstance(file, ConfigFile) else read_config_file(file), preset)
        preset = preset or (None if vocoder else named)
        layers.insert(0, layer)
    if preset is not None and vocoder is not None:
        raise ConfigurationError(f"give either a preset ({preset}) or a vocoder's configuration ({vocoder}), not both")
    config = Configuration(
        corpus, limit, text=TextConfig(**text or {}), options=options or {}, splits=split_checksums(splits or {})
    )
    if like:
        config = _like(config, like)
    if vocoder or preset or not like:
        config = _with_vocoder(config, vocoder) if vocoder else _with_preset(config, preset or DEFAULT_PRESET)
    # Checked together at the end: settings of different tables depend on each other.
    parts = {name: getattr(config, name) for name in ("mel", "reading", "cleaning", "text", "store", "ood_texts")}
    for layer in layers:
        parts |= layer.applied(parts)
    config = replace(config, **parts)
    if like and config.ood_texts and config.ood_texts == like.ood_texts:
        raise ConfigurationError("like: the store has out-of-domain texts; give their file with --ood-texts, or none")
    return config


def _like(config: Configuration, like: Configuration) -> Configuration:
    """Return the configuration of a store for the corpus of another one."""
    if missing := sorted(like.splits.keys() - config.splits.keys()):
        raise ConfigurationError(f"like: the store has the split '{missing[0]}'; give --split {missing[0]}=FILE again")
    is_same = config.corpus == like.corpus
    limit = like.limit if is_same and config.limit is None else config.limit
    options = {**like.options, **config.options} if is_same else config.options
    return replace(like, corpus=config.corpus, limit=limit, options=options, splits=config.splits, alignments=None)


def _with_vocoder(config: Configuration, path: Path) -> Configuration:
    found = doors.need("configurations", "vocoder")(path)
    if found.preset:
        return _with_preset(config, found.preset)
    return replace(config, mel=found.mel, reading=found.reading, preset=None)


def _with_preset(config: Configuration, name: str) -> Configuration:
    preset = get_preset(name)
    text = _changed(f"preset {preset.name}: text.", config.text, preset.text)
    return replace(config, mel=preset.config, reading=preset.reading, text=text, preset=preset.name)


def _layer(config: ConfigFile, chosen: str | None) -> tuple[_Layer, str | None]:
    """Return the settings of a file, and the preset that it names.

    Raises:
        ConfigurationError: it names another preset than the one that was chosen.
    """
    file, tables = config.path, dict(config.tables)
    preset = tables.pop("preset", None)
    if preset is not None and not isinstance(preset, str):
        raise ConfigurationError(f"{file}: preset: expected the name of a preset, found {preset!r}")
    if chosen and preset and chosen != preset:
        raise ConfigurationError(
            f"{file}: preset: {preset!r} in the file, {chosen!r} in the option; drop one of the two"
        )
    return _Layer(f"{file}: ", tables, file.parent), preset


@dataclass(frozen=True)
class _Layer:
    """Settings by table, which override those before them.

    Attributes:
        where: the start of messages.
        folder: the folder of relative paths.
    """

    where: str
    tables: Mapping[str, Any]
    folder: Path

    def applied(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the records of a configuration with the settings of this layer."""
        where, ood_texts = self.where, parts["ood_texts"]
        _check_tables(where, self.tables)
        named = dict(_table(where, self.tables, "text"))
        if "ood_texts" in named:
            path = _file(f"{where}text.ood_texts", named.pop("ood_texts"), self.folder)
            ood_texts = OodConfig.of(path) if path else None
        return {
            **self._audio(parts["mel"], parts["reading"]),
            "cleaning": _changed(f"{where}cleaning.", parts["cleaning"], _table(where, self.tables, "cleaning")),
            "text": self._text(parts["text"], named),
            "store": _changed(f"{where}store.", parts["store"], _table(where, self.tables, "store")),
            "ood_texts": ood_texts,
        }

    def _audio(self, mel: MelConfig, reading: ReadingConfig) -> dict[str, MelConfig | ReadingConfig]:
        where = f"{self.where}audio."
        audio = {**_table(self.where, self.tables, "audio")}
        _check_names(where, "setting", audio, _names(*_TABLES["audio"]))
        compression = _changed(f"{where}compression.", mel.compression, _table(where, audio, "compression"))
        own = {name: value for name, value in audio.items() if name in _names(MelConfig)}
        if own.get("n_mels") in ("none", 0):
            own["n_mels"], compression = 0, Compression()
        if own or compression != mel.compression:
            # Together, because there are numbers for each of n_mels bins.
            own["compression"] = compression
        of_reading = {name: value for name, value in audio.items() if name in _names(ReadingConfig)}
        return {"mel": _changed(where, mel, own), "reading": _changed(where, reading, of_reading)}

    def _text(self, text: TextConfig, settings: dict[str, Any]) -> TextConfig:
        table, lexicon = settings.pop("symbols", None), settings.pop("lexicon", None)
        name = settings.get("frontend")
        if isinstance(name, str) and name.startswith(_TOKENIZER):
            if table is not None:
                raise ConfigurationError("symbols: a tokenizer has its own; omit --symbols")
            tokenizer = doors.need("symbols", "tokenizer file")(self.folder / name.removeprefix(_TOKENIZER))
            text, settings = replace(text, symbols=tokenizer), {**settings, "frontend": _TOKENIZER[:-1]}
        elif name is not None and isinstance(text.symbols, RecordedTable) and text.symbols.is_tokenizer:
            text = replace(text, symbols=None)
        text = _changed(f"{self.where}text.", text, settings)
        text = text if table is None else self._with_symbols(text, table, settings)
        file = None if lexicon is None else _file(f"{self.where}text.lexicon", lexicon, self.folder)
        if file is None:
            return text
        if not text.has_phonemes:
            raise ConfigurationError(
                "lexicon: the frontend none makes no phones; choose another frontend, or leave the lexicon out"
            )
        return replace(text, lexicon=doors.need("words", "read")(file, make_frontend(text)))

    def _with_symbols(self, text: TextConfig, table: object, settings: Mapping[str, Any]) -> TextConfig:
        symbols = _symbols(f"{self.where}text.symbols", table, self.folder)
        own = getattr(symbols, "blanks", None) if isinstance(symbols, RecordedTable) else None
        # A voice's ids have blanks, unless the settings say otherwise.
        blanks = text.blanks if own is None or "blanks" in settings else own
        return replace(text, symbols=symbols, blanks=blanks)


_TOKENIZER: Final = "tokenizer:"
"""What the path of a tokenizer's file follows in the name of a frontend."""


def _file(where: str, value: object, folder: Path) -> Path | None:
    """Return the path in a setting, relative to a folder; None for ``"none"``."""
    if value == "none":
        return None
    if not isinstance(value, str | Path):
        raise ConfigurationError(f"{where}: expected a path, found {value!r}")
    return folder / value


def _symbols(where: str, value: object, folder: Path) -> str | tuple[str, ...] | RecordedTable | None:
    """Return the table in a setting: a name, or the table of a file; None for ``"none"``."""
    if not isinstance(value, str | Path):
        raise ConfigurationError(f"{where}: expected the name of a table or a path, found {value!r}")
    return None if value == "none" else choose_symbols(str(value), folder)


def _shown(value: object) -> str:
    """Return a setting as text for a message; large and nested values only by type."""
    return repr(value) if isinstance(value, bool | float | str) else f"a value of type {type(value).__name__}"


def _names(*kinds: type) -> tuple[str, ...]:
    return tuple(field.name for kind in kinds for field in fields(kind))


def _table(where: str, tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = tables.get(name, {})
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"{where}{name}: expected a table of settings, found {table!r}")
    return table


def _check_tables(where: str, layer: Mapping[str, Any]) -> None:
    for name in layer:
        for table, kinds in _TABLES.items():
            if name in _names(*kinds):
                raise ConfigurationError(f"{where}{name}: a setting of the table '{table}'; write it below [{table}]")
    _check_names(where, "table", layer, tuple(_TABLES))


def _check_names(where: str, what: str, names: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"expected one of {', '.join(known)}"
            raise ConfigurationError(f"{where}{name}: unknown {what}; {hint}")


def _changed(where: str, config: Any, settings: Mapping[str, Any]) -> Any:
    """Return a configuration with changed settings; ``"none"`` sets an optional one but ``frontend`` to None."""
    if not settings:
        return config
    kinds = {name: get_args(kind) or (kind,) for name, kind in get_type_hints(type(config)).items()}
    _check_names(where, "setting", settings, tuple(kinds))
    values: dict[str, Any] = {}
    for name, value in settings.items():
        if value == "none" and NoneType in kinds[name] and name not in _NONE_IS_A_VALUE:
            values[name] = None
            continue
        kind = kinds[name][0]
        if get_origin(kind) is tuple:
            values[name] = _numbers(f"{where}{name}", value)
            continue
        accepted = (int, float) if kind is float else kind
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            raise ConfigurationError(f"{where}{name}: expected {kind.__name__}, found {_shown(value)}")
        if isinstance(value, int) and abs(value) >= 1 << 63:
            raise ConfigurationError(f"{where}{name}: a number of {value.bit_length()} bits is too large")
        values[name] = float(value) if kind is float else value
    try:
        return replace(config, **values)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where.rpartition(': ')[0]}{': ' if ': ' in where else ''}{error}") from None


def _numbers(where: str, value: object) -> tuple[float, ...]:
    if not isinstance(value, list | tuple) or not all(type(x) in (int, float) for x in value):
        raise ConfigurationError(f"{where}: expected a list of numbers, found {_shown(value)}")
    try:
        return tuple(map(float, value))
    except OverflowError:
        raise ConfigurationError(f"{where}: a number is too large") from None


_FIRST: Final = 100
"""The number of rows of which one has the column of languages, if there is any."""


def text_of_corpus(
    name: str,
    corpus: Path,
    options: Mapping[str, Any] | None = None,
    *,
    root: Path | None = None,
    limit: int | None = None,
) -> dict[str, str]:
    """Return settings of `TextConfig`: the language of a corpus, or a frontend for each of its languages.

    They are those that the corpus always has, or the languages of all its rows. A corpus without texts has the frontend
    ``none``.

    Args:
        name: the name of the corpus.
        corpus: the root of the corpus.
        options: the options of the reader.
        root: the folder of relative audio paths.
        limit: the maximum number of rows to read; None reads all.

    Raises:
        CorpusError: the reader does not recognize the corpus.
    """
    found = get_corpus(name)
    if not found.texts:
        return {"frontend": NO_PHONEMES}
    languages = found.languages_of(corpus, options or {})
    if not languages:
        # Settings are checked first; rows that cannot be read are an error when they are read for the store.
        with contextlib.suppress(CorpusError):
            items, _ = read_corpus(name, corpus, root=root, options=options, texts=False)
            languages = tuple(_languages(itertools.islice(items, limit)))
    return _text_of(languages)


def _languages(items: Iterable[SourceUtterance | Failure]) -> list[str]:
    """Return the languages of rows, most frequent first; none if the first rows have no column of languages."""
    rows = (row for row in items if isinstance(row, SourceUtterance))
    first = list(itertools.islice(rows, _FIRST))
    if not any("language" in row.meta for row in first):
        return []
    counts = Counter(row.language for row in itertools.chain(first, rows) if row.language)
    return sorted(counts, key=lambda code: (-counts[code], code))


def _text_of(languages: Sequence[str]) -> dict[str, str]:
    """Return the settings for texts in some languages; a text without a language is in the first of them."""
    if not languages:
        return {}
    others = [code for code in languages if default_frontend(code) == ANY_LANGUAGE]
    frontends = {code: default_frontend(code) for code in languages if code not in others}
    if len(set(frontends.values())) == 1 and not others:
        return {"language": languages[0]}
    language = _main_language(others) if others else languages[0]
    if not frontends:
        return {"language": language}
    named = [f"{code}={frontend}" for code, frontend in frontends.items()]
    return {"frontend": ",".join([ANY_LANGUAGE, *named]), "language": language}


def _main_language(languages: Sequence[str]) -> str:
    """Return the first language that has a voice, but another than English if there is one.

    It selects the table of symbols: that of English texts lacks symbols of other languages.
    """
    if len(languages) == 1:
        return languages[0]
    # Imported late, because it loads espeak-ng.
    from tts_prep.preprocess.text.frontends.espeak import is_spoken

    spoken = [code for code in languages if is_spoken(code)] or languages
    return next((code for code in spoken if subtags(code)[0] != "en"), spoken[0])
