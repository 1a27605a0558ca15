"""The card of an exported dataset: ``README.md`` as the Hub of Hugging Face reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tts_prep.format.decoding import Record
from tts_prep.format.layout import MANIFEST
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.loader import UtteranceDataset

_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B")
"""The Hub's categories of numbers of rows; each ends with ten times as many as the one before, the first with 1,000."""

_LANGUAGE = re.compile(r"[a-z]{2,3}")
_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}")


@dataclass(frozen=True)
class Licence:
    """The licence of a dataset.

    Attributes:
        text: as it was given: the Hub's identifier, such as ``cc-by-4.0``, or any text; empty if none was named.
    """

    text: str = ""

    @property
    def identifier(self) -> str:
        """The Hub's identifier, ``other`` for another text, and empty if none was named."""
        if not self.text.strip():
            return ""
        word = self.text.strip().lower()
        return word if _IDENTIFIER.fullmatch(word) else "other"

    @property
    def file(self) -> str:
        """The text for a file beside the card; empty if the identifier says all."""
        return f"{self.text.strip()}\n" if self.identifier == "other" else ""


def dataset_card(dataset: UtteranceDataset, languages: Collection[str], licence: Licence) -> str:
    """Return a dataset card with its metadata.

    Args:
        languages: the codes of the languages of the texts, such as ``en-us``.
    """
    manifest = read_manifest(dataset.path)
    # Nothing of the corpus is put into the text unescaped: names of folders and speakers may have any characters.
    title = dataset.path.name
    metadata = _metadata(title, len(dataset), languages, licence)
    return "\n".join(["---", *metadata, "---", "", f"# {_plain(title)}", "", *_body(dataset, manifest, licence)]) + "\n"


def _metadata(title: str, n_rows: int, languages: Collection[str], licence: Licence) -> list[str]:
    codes = sorted({code for text in languages if _LANGUAGE.fullmatch(code := text.lower().partition("-")[0])})
    # Quoted, because YAML takes a bare `no`, Norwegian, for false.
    lines = ["language:", *(f"- {_quoted(code)}" for code in codes)] if codes else []
    if licence.identifier:
        lines.append(f"license: {_quoted(licence.identifier)}")
    if licence.file:
        lines += [f"license_name: {_quoted('other')}", f"license_link: {_quoted('LICENSE')}"]
    return [
        *lines,
        f"pretty_name: {_quoted(title)}",
        "task_categories:",
        "- text-to-speech",
        "size_categories:",
        f"- {_quoted(size_category(n_rows))}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        "    path: data/train-*.parquet",
    ]


def size_category(n_rows: int) -> str:
    """Return the Hub's category for a number of rows."""
    return next((name for power, name in enumerate(_SIZES, 3) if n_rows < 10**power), "n>1B")


def _body(dataset: UtteranceDataset, manifest: Manifest, licence: Licence) -> list[str]:
    audio, text = (_mapping(manifest.configuration.get(name)) for name in ("audio", "text"))
    hop, window, low, high = (_plain(audio.get(name)) for name in ("hop_length", "win_length", "fmin", "fmax"))
    hours = Record(f"{dataset.path / MANIFEST}: totals", {"seconds": 0, **manifest.totals}).number("seconds", 0) / 3600
    made_by = ", ".join(f"{name} {version}" for name, version in manifest.software.items())
    recordings = "with recordings" if dataset.metadata.has_waveform else "without recordings"
    conditions = {
        "": "No licence was named. Name that of the recordings and texts before this is published.",
        "other": "See the file `LICENSE`.",
    }.get(licence.identifier, f"`{licence.identifier}`")
    return [
        f"Utterances: {len(dataset):,}; hours: {hours:.2f}; speakers: {len(manifest.speakers):,}; {recordings}.",
        "Made for training text-to-speech.",
        "",
        "## Columns",
        "",
        f"- `mel`: frames of {dataset.n_mels} bins, {_plain(audio.get('sample_rate'))} Hz, n_fft "
        f"{_plain(audio.get('n_fft'))}, window {window}, hop {hop}, {low} to {high} Hz",
        f"- `phonemes`, `phoneme_text`: of the frontend {_plain(text.get('frontend'))}, language "
        f"{_plain(text.get('language'))}",
        "- `audio`: the recording as it was used for the mel, where the dataset has recordings",
        "- `id`, `text`, `speaker`, and the columns of the corpus",
        "",
        "```python",
        "import datasets",
        "",
        'dataset = datasets.load_dataset("USER/NAME", split="train")',
        "```",
        "",
        "## How it was made",
        "",
        *([f"Recordings and texts: {_plain(dataset.metadata.origin)}", ""] if dataset.metadata.origin else []),
        f"By tts-prep, from a store with the fingerprint `{_plain(manifest.fingerprint)}`.",
        f"Computed by {_plain(made_by)}.",
        f"Settings: `{_plain(json.dumps(dict(audio), sort_keys=True))}`.",
        "",
        "## Licence",
        "",
        conditions,
    ]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _quoted(text: str) -> str:
    """Return a text as a string of YAML, in one line."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'


def _plain(value: object) -> str:
    """Return a value of the store for Markdown, in one line and without marks that end code or start HTML."""
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return text.replace("`", "'").replace("<", "&lt;").replace("[", "(").replace("]", ")")
