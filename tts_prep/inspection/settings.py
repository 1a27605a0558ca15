"""The settings of a store as tables and as a short summary."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tts_prep.format.records.manifest import Manifest
from tts_prep.loader.dataset.utterances import UtteranceDataset

_MAX_ITEMS = 12


def recipe_text(manifest: Manifest, dataset: UtteranceDataset) -> list[tuple[str, str]]:
    """Return corpus, preset, mel, frontend and languages as pairs (name, text), without missing values."""
    configuration = manifest.configuration
    corpus, audio, text = (_mapping(configuration.get(name)) for name in ("corpus", "audio", "text"))
    mel = "{n_mels} bins, {sample_rate:,} Hz, n_fft {n_fft:,}, hop {hop_length:,}, {fmin:,g}–{fmax:,g} Hz"
    try:
        recipe = mel.format(**audio)
    except (KeyError, ValueError, TypeError):
        recipe = ""
    languages = languages_text(manifest, dataset)
    settings = (
        ("corpus", corpus.get("reader")),
        ("preset", configuration.get("preset")),
        ("mel", recipe if dataset.n_mels else "none"),
        ("frontend", text.get("frontend")),
        ("languages", languages) if languages else ("language", text.get("language")),
    )
    return [(name, str(value)) for name, value in settings if value]


def default_language(manifest: Manifest) -> str:
    """Return the language of the texts that have none of their own."""
    language = _mapping(manifest.configuration.get("text")).get("language")
    return language if isinstance(language, str) else ""


def languages_text(manifest: Manifest, dataset: UtteranceDataset) -> str:
    """Return the languages of the rows of a store with their numbers, most frequent first; empty without a column."""
    if "language" not in dataset.columns:
        return ""
    default = default_language(manifest)
    counts = Counter(str(code) or default for code in dataset.columns["language"])
    return ", ".join(f"{code} × {count:,}" for code, count in sorted(counts.items(), key=lambda item: (-item[1], item)))


def setting_tables(manifest: Manifest) -> list[tuple[str, dict[str, str]]]:
    """Return the settings of a store as flat tables: format, configuration, arrays, software."""
    tables = [("format", {"format version": str(manifest.version), "fingerprint": manifest.fingerprint})]
    tables += [(name, _texts(values)) for name, values in _flat(manifest.configuration, "")]
    for name, spec in manifest.specs.items():
        if spec.added:
            values = {"dtype": spec.dtype, "axis": spec.axis, "row shape": list(spec.row_shape), **spec.settings}
            tables.append((f"array {name}", _texts(values)))
    return [*tables, ("software", _texts(manifest.software))]


def _flat(configuration: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    plain = {key: value for key, value in configuration.items() if not isinstance(value, Mapping)}
    if plain:
        yield prefix or "general", plain
    for key, value in configuration.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}.{key}" if prefix else key)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): _text(value) for key, value in values.items()}


def _text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    if isinstance(value, list):
        start = " ".join(_text(item) for item in value[:_MAX_ITEMS])
        return f"{len(value):,} values: {start} …" if len(value) > _MAX_ITEMS else start or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
