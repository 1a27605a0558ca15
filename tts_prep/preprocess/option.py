"""Options of commands, declared beside what they set. The command line makes its options of these records.

A record names no library of the command line, and this module imports no other, so that help texts need nothing else.
"""

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar

from tts_prep.errors import ConfigurationError

T = TypeVar("T")

KINDS = (str, int, float, bool, Path)


@dataclass(frozen=True)
class Option:
    """An option of a command.

    Attributes:
        name: the keyword or setting that receives the value.
        help: one or two sentences.
        kind: the type of the value: one of `KINDS`. A `bool` without a default has two flags, ``--x`` and ``--no-x``.
        flags: the option on the command line, such as ``("--jobs", "-j")``; default: ``--name``, with dashes.
        metavar: the value in the help, such as ``HZ``.
        choices: the permitted values; () permits all.
        repeated: whether it may be repeated. Its value is then a sorted list for a corpus, otherwise a tuple.
        default: the value if the option is not given; None leaves it out.
        minimum, maximum: the smallest and the greatest integer.
        none: whether ``none`` is permitted instead of a number, which unsets a setting.
        values: a function that returns the values that a shell completes.
        output: whether a path is that of a file to write.
        content: whether the value on the command line is a file, whose text is the value.
        group: the title above it in the help; default: that of the corpus.
        other_names: what people type instead, without dashes, for messages.
    """

    name: str
    help: str
    kind: type = str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    repeated: bool = False
    default: Any = None
    minimum: int = 1
    maximum: int | None = None
    none: bool = False
    values: Callable[[], Iterable[str]] | None = None
    output: bool = False
    content: bool = False
    group: str = ""
    other_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            kinds = ", ".join(kind.__name__ for kind in KINDS)
            raise ConfigurationError(f"option {self.name!r}: kind: expected one of {kinds}, found {self.kind!r}")
        if not self.name.isidentifier():
            raise ConfigurationError(f"option {self.name!r}: expected a name that Python accepts")

    @property
    def all_flags(self) -> tuple[str, ...]:
        """The option on the command line, with those that follow from its name."""
        flag = "--" + self.name.replace("_", "-")
        if self.flags:
            return self.flags
        return (flag + flag.replace("--", "/--no-", 1),) if self.kind is bool and self.default is None else (flag,)


class OptionTable(Mapping[str, tuple[Option, ...]]):
    """The options of a file ``options.json`` by section, which is read when the first is taken.

    The file has, for each option, the attributes that differ from the defaults. It is JSON, because tomllib takes 10 ms
    to be imported, a tenth of a help text.

    Args:
        module: a module in the folder of the file: its ``__file__``.
    """

    def __init__(self, module: str) -> None:
        self._file = Path(module).with_name("options.json")

    @cached_property
    def _sections(self) -> dict[str, tuple[Option, ...]]:
        sections = json.loads(self._file.read_text("utf-8"))
        return {title: tuple(option_of(name, **of) for name, of in rows.items()) for title, rows in sections.items()}

    def __getitem__(self, section: str) -> tuple[Option, ...]:
        return self._sections[section]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)


def option_of(name: str, *, kind: str = "str", values: str = "", **of: Any) -> Option:
    """Return the option of a name and its attributes in a data file."""
    settings: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in of.items()}
    kinds = {known.__name__: known for known in KINDS}
    return Option(name, kind=kinds[kind], values=_named(values) if values else None, **settings)


def _named(place: str) -> Callable[[], Iterable[str]]:
    """Return a function that calls ``module:function``, which is imported when it is called."""
    module, _, name = place.partition(":")
    return lambda: getattr(importlib.import_module(module), name)()


def takes_fields(record: Callable[..., Any]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Return a decorator of a function whose last parameter is a record: callers give the record's fields by name.

    Fields and their lines of the record's docstring become keywords and lines of the function's, where that explains
    the parameter: an option is declared in the record alone. For type checkers, the function gets them by a protocol of
    its other parameters, followed by those that creating the record takes; a test holds it against the function.
    """
    fields = inspect.signature(record).parameters
    # Python 3.13 takes the indentation of docstrings away, earlier versions do not.
    found = re.search(r"^Attributes:\n((?: {4}.*(?:\n|$))+)", inspect.getdoc(record) or "", re.MULTILINE)
    lines = found[1].rstrip("\n") + "\n" if found else ""

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        *own, last = inspect.signature(function).parameters.values()

        @wraps(function)
        def call(*arguments: Any, **keywords: Any) -> T:
            named = {one.name: keywords.pop(one.name) for one in own if one.name in keywords}
            if unknown := sorted(keywords.keys() - fields.keys()):
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument {unknown[0]!r}")
            return function(*arguments, **named, **{last.name: record(**keywords)})

        returned = inspect.signature(function).return_annotation
        vars(call)["__signature__"] = inspect.Signature([*own, *fields.values()], return_annotation=returned)
        whole = f"{inspect.getdoc(function) or ''}\n"
        call.__doc__ = re.sub(rf"^ {{4}}{last.name}: .*\n", lambda _: lines, whole, flags=re.MULTILINE)
        return call

    return decorate
