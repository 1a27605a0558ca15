"""Layouts that users write: TOML of any origin, checked before anything is read by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tts_prep.corpora.layout import NOT_COLUMNS, Layout
from tts_prep.corpora.records import layout_of
from tts_prep.corpora.template import Template
from tts_prep.errors import ConfigurationError
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.preprocess.configuration.settings import parse_toml

_ENCODINGS: Final = (
    *("utf-8", "latin-1", "cp1250", "cp1251", "cp1252", "iso-8859-2", "iso-8859-15", "koi8-r"),
    *("shift_jis", "euc-jp", "gb18030", "big5", "euc-kr"),
)
"""Encodings in which bytes of ASCII are always ASCII at the ends of lines."""

_FILES: Final = ("lists", "recordings", "texts", "audio")
_TEMPLATES: Final = (*_FILES, "lines", "id", "text", "speaker")
_TABLES: Final = ("keys", "columns", "parts", "maps", "tables")
_OTHERS: Final = ("pairs", "first_line", "last", "normalized", "encoding")
_MOST: Final = 500
"""The greatest number of values of a table, and of characters of a text."""


def parse_layout(text: str) -> Layout:
    """Return the layout of a TOML text.

    Raises:
        ConfigurationError: it is no layout; the message says what was expected in its place.
    """
    try:
        table = parse_toml(text)
    except ValueError as error:
        raise ConfigurationError(f"layout: not TOML: {error}") from error
    known = (*_TEMPLATES, *_TABLES, *_OTHERS)
    for name, value in table.items():
        if name not in known:
            raise ConfigurationError(f"layout: expected some of {', '.join(known)}, found {name!r}")
        _check(name, value)
    if ("lists" in table) == ("recordings" in table):
        raise ConfigurationError(
            "layout: expected 'lists', paths of lists, or 'recordings', paths of recordings with a text each"
        )
    if "lists" in table and ("audio" not in table or len({"lines", "keys", "pairs"} & {*table}) != 1):
        raise ConfigurationError(
            "layout: lists need 'audio', and one of 'lines', 'keys' (of tables) and 'pairs' (of a JSON object)"
        )
    layout = layout_of(table)
    read = [name for where, one in _templates(table) if where not in ("id", "text", "speaker") for name in one.names]
    names = {*read, *layout.keys, *layout.pairs, *(name for one in layout.tables.values() for name in one.fields)}
    for name in ("id", "text"):
        if (
            not {name, "normalized" if name == "text" else name} & names
            and name not in table
            and (name == "id" or "texts" not in table)
        ):
            raise ConfigurationError(f"layout: no template has {{{name}}}; one of them must, or the key {name!r}")
    reserved = {*FIXED_COLUMNS} - NOT_COLUMNS
    if wrong := sorted(names & reserved | {*layout.columns} & {*FIXED_COLUMNS}):
        raise ConfigurationError(
            f"layout: {wrong[0]!r} is a column of all stores; choose another name, or {{_{wrong[0]}}}"
        )
    return layout


def _check(name: str, value: Any) -> None:
    """Check the value of a key of a layout."""
    if name in _TEMPLATES:
        for template in _texts(name, value):
            Template(template).check(f"layout: {name}")
            parts = template.split("/")
            if name in _FILES and ((".." in parts and name != "audio") or template.startswith("//")):
                raise ConfigurationError(f"layout: {name}: expected a path inside the corpus, found {template!r}")
    elif name == "pairs":
        if len(_texts(name, value)) != 2:
            raise ConfigurationError(f"layout: pairs: expected the names of a key and a value, found {value!r}")
    elif name == "encoding":
        if value not in _ENCODINGS:
            raise ConfigurationError(f"layout: encoding: expected one of {', '.join(_ENCODINGS)}, found {value!r}")
    elif name in ("first_line", "last", "normalized"):
        if not isinstance(value, bool):
            raise ConfigurationError(f"layout: {name}: expected true or false, found {value!r}")
    else:
        _check_table(name, value)


def _check_table(name: str, table: Any) -> None:
    if not isinstance(table, dict) or len(table) > _MOST:
        raise ConfigurationError(f"layout: {name}: expected a table of at most {_MOST} values")
    for key, value in table.items():
        where = f"{name}.{key}"
        if name in ("columns", "parts"):
            for template in _texts(where, value):
                Template(template).check(f"layout: {where}")
            if name == "columns" and not key.isidentifier():
                raise ConfigurationError(f"layout: columns: a column cannot be named {key!r}")
        elif name == "keys":
            _texts(where, [value])
        elif not isinstance(value, dict):
            raise ConfigurationError(f"layout: {where}: expected a table, found {value!r}")
        elif name == "maps":
            _texts(where, list(value.values()), least=0)
        elif key.startswith("/") or ".." in key.split("/"):
            raise ConfigurationError(f"layout: {where}: expected a path inside the corpus")
        elif not {"fields"} <= {*value} <= {"fields", "separator", "skip"} or len(_texts(where, value["fields"])) < 2:
            raise ConfigurationError(
                f"layout: {where}: expected at least two fields, and separator and skip if need be"
            )
        elif not isinstance(value.get("separator", " "), str) or value.get("separator") == "":
            raise ConfigurationError(f"layout: {where}: separator: expected a text, found {value['separator']!r}")
        else:
            _texts(where, value.get("skip", ["#"]))


def _texts(where: str, value: Any, least: int = 1) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    is_valid = isinstance(texts, list) and 0 < len(texts) <= _MOST
    if not is_valid or not all(isinstance(text, str) and least <= len(text) <= _MOST for text in texts):
        raise ConfigurationError(f"layout: {where}: expected a text, or a list of texts, of at most {_MOST} characters")
    return texts


def _templates(table: Mapping[str, Any]) -> Iterator[tuple[str, Template]]:
    for where, value in table.items():
        values = value.values() if where in ("columns", "parts") else [value] if where in _TEMPLATES else []
        for one in values:
            yield from ((where, Template(text)) for text in _texts(where, one))
