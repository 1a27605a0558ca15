"""The corpora of ``corpora.toml``: each a section with what `Corpus` has, and its layout or the name of its reader."""

import importlib
from collections.abc import Mapping
from functools import cache
from operator import attrgetter
from typing import Any

from tts_prep.corpora.layout import Layout, Table
from tts_prep.corpora.template import Template
from tts_prep.corpora.transcripts import subset_option
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.option import option_of
from tts_prep.toml_files import read_toml


@cache
def _sections() -> Mapping[str, Any]:
    return read_toml(__package__, "corpora.toml")


@cache
def _corpus(name: str) -> Corpus:
    of = dict(_sections()[name])
    options = [option_of(key, **attributes) for key, attributes in of.pop("options", {}).items()]
    if example := of.pop("subset", ""):
        options.insert(0, subset_option(example))
    read = _named(of.pop("read")) if "read" in of else layout_of(of.pop("layout"))
    languages = of.pop("languages", ())
    return Corpus(
        name,
        read,
        of.pop("help"),
        options=tuple(options),
        languages=_named(languages) if isinstance(languages, str) else tuple(languages),
        layout=tuple(map(tuple, of.pop("known_by", ()))),
        sources=_named(of.pop("sources")) if "sources" in of else None,
        **of,
    )


def layout_of(table: Mapping[str, Any]) -> Layout:
    """Return the layout of a table of TOML."""
    of = dict(table)
    for name in ("columns", "parts"):
        of[name] = {key: _templates(value) for key, value in of.get(name, {}).items()}
    for name in ("lists", "lines", "recordings", "texts", "audio", "id", "text", "speaker"):
        if name in of:
            of[name] = _templates(of[name])
    tables = {
        path: Table(**{**row, "fields": tuple(row["fields"]), "skip": tuple(row.get("skip", ()))})
        for path, row in of.get("tables", {}).items()
    }
    values = _named(of["values"]) if "values" in of else None
    lists: dict[str, Any] = {name: tuple(of[name]) for name in ("pairs", "subsets") if name in of}
    return Layout(**{**of, **lists, "tables": tables, "values": values})


def _templates(value: str | list[str]) -> tuple[Template, ...]:
    return tuple(map(Template, [value] if isinstance(value, str) else value))


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    return attrgetter(name)(importlib.import_module(f"{__package__}.{module}"))


def __getattr__(name: str) -> Corpus:
    """Return the corpus of a name, as the rows of the room name it."""
    if name not in _sections():
        raise AttributeError(name)
    return _corpus(name)
