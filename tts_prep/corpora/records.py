"""The corpora of ``corpora.toml``, each a section with its layout or reader, and layouts that users write as TOML."""

import importlib
from collections.abc import Mapping
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from tts_prep.corpora.layout import NOT_COLUMNS, Layout, Table
from tts_prep.corpora.template import Template
from tts_prep.corpora.transcripts import subset_option
from tts_prep.errors import ConfigurationError
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.option import option_of
from tts_prep.toml_files import parse_toml, read_toml


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


_ENCODINGS: Final = (
    *("utf-8", "latin-1", "cp1250", "cp1251", "cp1252", "iso-8859-2", "iso-8859-15", "koi8-r"),
    *("shift_jis", "euc-jp", "gb18030", "big5", "euc-kr"),
)
"""Encodings in which bytes of ASCII are always ASCII at the ends of lines."""

_FILES: Final = ("lists", "recordings", "texts", "audio")
_TEMPLATES: Final = (*_FILES, "lines", "id", "text", "speaker")
_TABLES: Final = ("keys", "columns", "parts", "maps", "tables")
_FLAGS: Final = ("first_line", "last", "normalized")
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
    known = (*_TEMPLATES, *_TABLES, "pairs", *_FLAGS, "encoding")
    for name, value in table.items():
        _need(name in known, f"expected some of {', '.join(known)}, found {name!r}")
        if name == "encoding":
            _need(value in _ENCODINGS, f"encoding: expected one of {', '.join(_ENCODINGS)}, found {value!r}")
        elif name in _FLAGS:
            _need(isinstance(value, bool), f"{name}: expected true or false, found {value!r}")
        elif name in _TABLES:
            _check_table(name, value)
        else:
            _check_templates(name, value)
    is_one = ("lists" in table) != ("recordings" in table)
    _need(is_one, "expected 'lists', paths of lists, or 'recordings', paths of recordings with a text each")
    is_whole = "recordings" in table or ("audio" in table and len({"lines", "keys", "pairs"} & {*table}) == 1)
    _need(is_whole, "lists need 'audio', and one of 'lines', 'keys' (of tables) and 'pairs' (of a JSON object)")
    _need(not {"lists", "texts"} <= {*table}, "texts: only for 'recordings'; the text of a list is in its lines")
    layout = layout_of(table)
    _need(len(layout.pairs) in (0, 2), f"pairs: expected the names of a key and a value, found {layout.pairs}")
    templates = (*layout.lists, *layout.lines, *layout.recordings, *layout.audio, *chain(*layout.parts.values()))
    names = {name for one in templates for name in one.names} | {*layout.keys, *layout.pairs}
    names |= {name for one in layout.tables.values() for name in one.fields}
    for name, others in (("id", {"id"}), ("text", {"text", "normalized", "texts"})):
        _need(bool(others & (names | {*table})), f"no template has {{{name}}}; one of them must, or the key {name!r}")
    odd = sorted(name for name in (names | {*layout.maps}) - {"-"} if not name.isidentifier())
    _need(not odd, f"expected names of letters, digits and _, found {odd[:1]}")
    wrong = sorted(names & ({*FIXED_COLUMNS} - NOT_COLUMNS) | {*layout.columns} & {*FIXED_COLUMNS})
    _need(not wrong, f"{wrong[:1]} is a column of all stores; choose another name, or one that begins with _")
    return layout


def _need(is_so: bool, message: str) -> None:
    if not is_so:
        raise ConfigurationError(f"layout: {message}")


def _check_templates(where: str, value: Any) -> None:
    for template in _texts(where, value):
        Template(template).check(f"layout: {where}")
        is_inside = where not in _FILES or (
            (where == "audio" or ".." not in template.split("/")) and template[:2] != "//" and template.strip("/.")
        )
        _need(bool(is_inside), f"{where}: expected a path inside the corpus, found {template!r}")


def _check_table(name: str, table: Any) -> None:
    _need(isinstance(table, dict) and len(table) <= _MOST, f"{name}: expected a table of at most {_MOST} values")
    for key, value in table.items():
        where = f"{name}.{key}"
        if name == "keys":
            _texts(where, [value])
        elif name in ("columns", "parts"):
            _need(name == "parts" or key.isidentifier(), f"columns: a column cannot be named {key!r}")
            _check_templates(where, value)
        else:
            _need(isinstance(value, dict), f"{where}: expected a table, found {value!r}")
            if name == "maps":
                _texts(where, list(value.values()), least=0)
                continue
            _need(key[:1] != "/" and ".." not in key.split("/"), f"{where}: expected a path inside the corpus")
            is_known = {"fields"} <= {*value} <= {"fields", "separator", "skip"} and isinstance(value["fields"], list)
            is_known = is_known and len(_texts(where, value["fields"])) > 1 and value.get("separator", " ") != ""
            _need(is_known, f"{where}: expected a list 'fields' of two or more, 'separator' and 'skip' if need be")
            _texts(where, [value.get("separator", " ")])
            _texts(where, value.get("skip", ["#"]))


def _texts(where: str, value: Any, least: int = 1) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    is_valid = isinstance(texts, list) and 0 < len(texts) <= _MOST
    is_valid = is_valid and all(isinstance(text, str) and least <= len(text) <= _MOST for text in texts)
    _need(is_valid, f"{where}: expected a text, or a list of texts, of at most {_MOST} characters")
    return texts
