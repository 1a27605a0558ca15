"""Layouts of corpora as data: where lists, texts and recordings are, by templates, and the reader of all of them."""

import glob
import json
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tts_prep.corpora import transcripts
from tts_prep.corpora.filelist import seconds
from tts_prep.corpora.folder import NORMALIZED
from tts_prep.corpora.template import Template
from tts_prep.errors import CorpusError
from tts_prep.format.files.paths import read_regular
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance
from tts_prep.quantities import count_text

Values = dict[str, str]
NOT_COLUMNS: Final = frozenset(("id", "text", "normalized", "speaker", "start", "end"))
"""Placeholders with a meaning of their own."""
_component = lru_cache(maxsize=256)(Template)
_MAX_OBJECT: Final = 1 << 26
"""The maximum length of a JSON object of texts in bytes."""


@dataclass(frozen=True)
class Table:
    """A file about speakers, or with the texts of recordings.

    Attributes:
        fields: what its fields are; the first one is that by which rows are found. A field ``-`` is not used.
        separator: what is between the fields; default: white space. A JSON object has a value, or an object, by key.
        skip: the first fields of lines that are no rows.
    """

    fields: tuple[str, ...]
    separator: str | None = None
    skip: tuple[str, ...] = ()

    def read(self, path: Path) -> dict[str, Values]:
        """Return the values by the first field; none if there is no file."""
        if not path.exists():
            return {}
        others = self.fields[1:]
        if path.suffix == ".json":
            items = json_object(path).items()
            rows = {key: value if isinstance(value, dict) else {others[0]: value} for key, value in items}
            return {
                key: {name: str(row[name]) for name in others if isinstance(row.get(name), str | int | float)}
                for key, row in rows.items()
            }
        found: dict[str, Values] = {}
        for where, line in read_lines(path):
            if isinstance(line, Failure):
                raise CorpusError(line.reason)
            cells = [cell.strip() for cell in line.split(self.separator, len(others))]
            if not cells or cells[0].startswith(self.skip or "\0"):
                continue
            if len(cells) < len(self.fields):
                expected = " ".join(self.fields).replace("_", "-")
                raise CorpusError(f"{where}: expected '{expected}', found {count_text(len(cells), 'field')}")
            named = zip(others, cells[1:], strict=True)
            found[cells[0]] = {name: value for name, value in named if name != "-"}
        return found


def json_object(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file.

    Raises:
        CorpusError: it cannot be read, or is no object.
    """
    try:
        found = json.loads(read_regular(path, _MAX_OBJECT))
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: not JSON ({error})") from error
    if not isinstance(found, dict):
        raise CorpusError(f"{path}: expected a JSON object, found a {type(found).__name__}")
    return found


@dataclass(frozen=True)
class Layout:
    r"""How the files of a corpus lie, and what is where in them.

    Attributes:
        lists: templates of paths of lists with a line per recording. They end with the name of the file, and are
            compared from there, up to the name of the corpus's folder; one that begins with ``/`` begins in it.
        lines: templates of a line; the first that fits is used.
        keys: for lists that are tables or JSON lines, the names of columns by placeholder.
        pairs: for lists that are a JSON object, the placeholders of its keys and values.
        recordings: instead of lists, templates of paths of recordings without their suffixes.
        texts: templates of paths of a recording's text; the first that is a file is read.
        audio: templates of paths of a line's recording, from the folder of its list or, with ``/``, of the corpus; the
            first that is a file. What is not known before is searched, and known then.
        id, text, speaker: templates of which the first is used whose values are there; a template without
            placeholders is a value.
        columns: templates of further columns, which all rows have. The other placeholders whose names do not begin
            with ``_`` are columns, too.
        parts: templates of values, by placeholder: ``id = "{speaker}_{}"``.
        maps: other values for values, by placeholder; ``*`` is for those that are not named.
        tables: tables by path, from the folder of the corpus.
        select: the placeholder that ``--subset`` selects.
        subsets: its values, in their order, as patterns.
        first_line: whether only the first line of a list is read.
        last: whether only the last list is read, whose name has the highest version.
        normalized: whether all texts are normalized. A placeholder ``normalized`` is a text that is.
        encoding: that of lists.
        folder: what the folder has, for messages.
        line: the form of a line, for messages.
        values: a function that changes the values of a row by the options of the command, or returns None for a line
            of another form.
    """

    lists: tuple[Template, ...] = ()
    lines: tuple[Template, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    pairs: tuple[str, ...] = ()
    recordings: tuple[Template, ...] = ()
    texts: tuple[Template, ...] = ()
    audio: tuple[Template, ...] = ()
    id: tuple[Template, ...] = (Template("{id}"),)
    text: tuple[Template, ...] = (Template("{text}"),)
    speaker: tuple[Template, ...] = (Template("{speaker}"), Template(ANONYMOUS))
    columns: Mapping[str, tuple[Template, ...]] = field(default_factory=dict)
    parts: Mapping[str, tuple[Template, ...]] = field(default_factory=dict)
    maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    select: str = ""
    subsets: tuple[str, ...] = ("*",)
    first_line: bool = False
    last: bool = False
    normalized: bool = False
    encoding: str = "utf-8"
    folder: str = ""
    line: str = ""
    values: Callable[[Values, Mapping[str, Any]], Values | None] | None = None

    def __call__(
        self, root: Path, *, subsets: Sequence[str] = (), **options: Any
    ) -> Iterator[SourceUtterance | Failure]:
        """Yield the utterances of a corpus, in the order of the paths of its lists or recordings.

        Raises:
            CorpusError: nothing below the folder fits.
            ConfigurationError: a subset does not exist.
        """
        tables = {table: table.read(root / path) for path, table in self.tables.items()}
        for path, known in self._files(root, subsets):
            for where, values, line in self._rows(root, path, known) if self.lists else self._beside(root, path, known):
                if isinstance(values, Failure):
                    yield values
                    continue
                try:
                    complete = self._complete(values, tables, options)
                    if complete is None:
                        raise ValueError(self._other_form(line))
                    yield self._utterance(root, path, where, complete, known)
                except ValueError as error:
                    identifier = values.get("id") or _id_of(line)
                    yield Failure.of_row(identifier, where, str(error))

    def _files(self, root: Path, subsets: Sequence[str]) -> list[tuple[str, Values]]:
        """Return the lists or recordings with the values of their paths."""
        templates = self.lists or self.recordings
        if not root.is_dir():
            raise CorpusError(f"{root}: no such folder{f'; expected {self.folder}' if self.folder else ''}")
        if self.lists:
            paths = {path for template in templates for path in root.glob(_pattern(template))}
            names = [path.relative_to(root).as_posix() for path in sorted(paths)]
        else:
            names = sorted(transcripts.files_below(root, transcripts.AUDIO_SUFFIXES), key=lambda name: name.split("/"))
        found = [(name, values) for name in names if (values := _of_path(root, templates, name)) is not None]
        if self.select:
            there = {values[self.select] for _, values in found}
            order = [name for pattern in self.subsets for name in sorted(there) if PurePosixPath(name).match(pattern)]
            chosen = transcripts.chosen_subsets(root, order, subsets) if order else []
            found = [one for one in found if one[1][self.select] in chosen]
            found.sort(key=lambda one: chosen.index(one[1][self.select]))
        if not found:
            wanted = templates[0].write({}).rpartition("/")[2]
            if not self.folder:
                raise CorpusError(f"{root}: no {wanted} in it or below it; is it the folder of the corpus?")
            is_subset = self.lists and self.select and any(root.glob(wanted))
            hint = f"; use {root.parent} with --subset {root.name}" if is_subset else ""
            raise CorpusError(f"{root}: expected {self.folder}{hint}")
        return found[-1:] if self.last else found

    def _rows(self, root: Path, path: str, values: Values) -> Iterator[tuple[str, Values | Failure, str]]:
        """Yield place, values and line of each row of a list; no values for a line of another form."""
        folder = path.rpartition("/")[0]
        try:
            if self.pairs:
                for number, pair in enumerate(json_object(root / path).items(), 1):
                    is_text = isinstance(pair[1], str)
                    yield f"{path}:{number}", values | dict(zip(self.pairs, pair, strict=True)) if is_text else {}, ""
                return
            for place, line in read_lines(root / path, self.encoding) if self.lines else _table(root / path):
                where = f"{folder}/{place}" if folder else place
                if isinstance(line, Failure):
                    yield where, Failure(line.id, where, "corpus", line.reason), ""
                elif isinstance(line, str):
                    read = next((read for one in self.lines if (read := one.read(line)) is not None), None)
                    yield where, {} if read is None else values | read, line
                else:
                    cells = ((name, line.get(key)) for name, key in self.keys.items())
                    texts = {name: str(cell).strip() for name, cell in cells if cell is not None}
                    yield where, values | texts, ""
                if self.first_line:
                    break
        except CorpusError as error:
            yield f"{path}:1", Failure("", f"{path}:1", "corpus", str(error)), ""

    def _other_form(self, line: str) -> str:
        if not line:
            return f"expected {self.line or 'a recording and a text'}"
        expected = self.line or " or ".join(repr(one.source) for one in self.lines)
        return f"expected {expected}, found {line.strip()[:60]!r}"

    def _beside(self, root: Path, path: str, values: Values) -> Iterator[tuple[str, Values | Failure, str]]:
        """Yield the place of a recording's text, and the values with the text."""
        if not self.texts:
            yield path, values, ""
            return
        folder = path.rpartition("/")[0]
        file = transcripts.first_file(root, *(PurePosixPath(_below(one, values, folder)) for one in self.texts))
        text = transcripts.read_transcript(root, file, values.get("id", ""))
        name = "normalized" if file.endswith(NORMALIZED) else "text"
        yield f"{file}:1", text if isinstance(text, Failure) else values | {name: text}, ""

    def _complete(
        self, values: Values, tables: Mapping[Table, Mapping[str, Values]], options: Mapping[str, Any]
    ) -> Values | None:
        """Return the values with those of their parts and of tables; None if a line has another form."""
        if not values:
            return None
        for name, templates in self.parts.items():
            read = (one.read(values[name]) for one in templates if name in values)
            values = next((one for one in read if one is not None), {}) | values
        found = self.values(values, options) if self.values else values
        if found is not None:
            for table, rows in tables.items():
                found = rows.get(found.get(table.fields[0], ""), {}) | found
        return found

    def _utterance(self, root: Path, path: str, where: str, values: Values, known: Values) -> SourceUtterance:
        """Return the utterance of complete values.

        Raises:
            ValueError: there is no recording, or no text.
        """
        audio, found = self._recording(root, path, values) if self.lists else (path, {})
        values = found | values
        for name, others in self.maps.items():
            value = values.get(name, "")
            values[name] = others.get(value, others.get("*", value))
        text, spoken = _first(self.text, values), values.get("normalized", "")
        if not audio or not (text or spoken or self.texts):
            raise ValueError(self._other_form(""))
        names = [name for name in {**known, **values} if name not in NOT_COLUMNS and name[0] != "_"]
        meta = {name: values.get(name, "") for name in names}
        meta |= {name: _first(templates, values) for name, templates in self.columns.items()}
        meta = {name: value for name, value in meta.items() if value or name != "language"}
        start, end = seconds(values.get("start", ""), values.get("end", ""))
        identifier = _first(self.id, values) or values.get("id", "")
        speaker, normalized = _first(self.speaker, values), self.normalized or bool(spoken)
        return SourceUtterance(identifier, spoken or text, audio, where, speaker, meta, normalized, start, end)

    def _recording(self, root: Path, path: str, values: Values) -> tuple[str, Values]:
        """Return the path of a line's recording, and the values that are known by it; an empty path if it has none."""
        folder = path.rpartition("/")[0]
        templates = [one for one in self.audio if any(values.get(name) for name in one.names)]
        if len(templates) == 1 and templates[0].is_filled_by(values):
            return _below(templates[0], values, folder), {}
        for template in templates:
            if template.is_filled_by(values):
                if transcripts.is_file(root / (name := _below(template, values, folder))):
                    return name, {}
                continue
            for name in _glob(root, _below(template, values, folder, glob.escape)):
                beside = name if template.source.startswith("/") else posixpath.relpath(name, folder or ".")
                found = _read_path(template, beside.split("/"), values)
                if found is not None:
                    return name, found
        return (_below(templates[0], values, folder) if templates else ""), {}


def _of_path(root: Path, templates: Sequence[Template], name: str) -> Values | None:
    """Return the values of the first template that a path fits, also if it ends before the template begins."""
    stem = name.rpartition(".")[0] if name.lower().endswith(transcripts.AUDIO_SUFFIXES) else name
    for template in templates:
        is_whole = template.source.startswith("/")
        parts = stem.split("/") if is_whole else [root.absolute().name, *stem.split("/")]
        if is_whole and len(parts) != template.source.count("/"):
            continue
        found = _read_path(template, parts, {})
        if found is not None:
            return dict.fromkeys(template.names, "") | found
    return None


def _read_path(template: Template, parts: Sequence[str], values: Values) -> Values | None:
    """Return the values of the names of a path, from its end; None if they have another form, or are not ``values``."""
    found: Values = {}
    for part, wanted in zip(reversed(parts), reversed(template.source.removeprefix("/").split("/")), strict=False):
        read = _component(wanted).read(part)
        if read is None or any((values | found).get(name, value) != value for name, value in read.items()):
            return None
        found |= read
    return found


def _glob(root: Path, pattern: str) -> list[str]:
    """Return the recordings of a pattern, relative to a folder."""
    try:
        found = [] if pattern.startswith("/") else sorted(root.glob(pattern))
    except (OSError, ValueError):
        # A name that no file can have, or a folder that cannot be read: the row fails, as its recording is missing.
        found = []
    return [
        path.relative_to(root).as_posix() for path in found if path.name.lower().endswith(transcripts.AUDIO_SUFFIXES)
    ]


def _id_of(line: str) -> str:
    """Return what may be the id at the beginning of a line that has another form."""
    words = line.replace("|", " ").replace(":", " ").split(maxsplit=1)
    return PurePosixPath(words[0]).stem if words else ""


def _pattern(template: Template) -> str:
    """Return the pattern of the files of a template: the names at its end that have no placeholder, and the last."""
    parts = template.source.removeprefix("/").split("/")
    if template.source.startswith("/"):
        return template.write({}, glob.escape).removeprefix("/")
    first = len(parts) - 1
    while first and "{" not in parts[first - 1] and "*" not in parts[first - 1]:
        first -= 1
    return "/".join(["**", *(Template(part).write({}, glob.escape) for part in parts[first:])])


def _below(template: Template, values: Values, folder: str, quoted: Callable[[str], str] = str) -> str:
    """Return a path, relative to the corpus, of a template that is relative to a folder of it, or to the corpus."""
    path = template.write(values, quoted)
    if path.startswith("/"):
        return path.removeprefix("/") if template.source.startswith("/") else path
    return posixpath.normpath(posixpath.join(quoted(folder), path))


def _first(templates: Sequence[Template], values: Values) -> str:
    """Return the text of the first template whose values are there; an empty text if there is none."""
    return next((one.write(values) for one in templates if one.is_filled_by(values)), "")


def _table(path: Path) -> Iterator[tuple[str, Mapping[str, Any] | Failure]]:
    """Yield the rows of a table."""
    # Imported late, because help texts do not read tables.
    from tts_prep.corpora.manifests.containers import open_table

    for row in open_table(path).rows():
        yield row.where, row if isinstance(row, Failure) else row.values
