"""Options of several commands, as the fields of a record and in groups of the help, and those of ``tts-prep add``."""

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial, wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from tts_prep import doors
from tts_prep.errors import ConfigurationError, OfflineWarning, StoreError, one_line
from tts_prep.format.files.paths import is_url, read_regular, without_secret
from tts_prep.preprocess.configuration import SETTINGS
from tts_prep.preprocess.option import Option, OptionTable

_TITLES: Final = ("The corpus", "Mels", "Cleaning", "Texts", "Features", "The store", "The run")
"""The titles of groups in the order of output; options without a group are in the first one."""

_OF_ALL_COMMANDS: Final = frozenset(("--quiet", "--verbose", "--debug", "--help"))
"""Options in the last group."""

_ALL: Final = f"{__name__}.all"
"""Whether all options are asked for."""

_SENTENCE: Final = 200
"""The maximum length of a description in a list of commands, longer than any sentence."""


class GroupedOption(click.Option):
    """An option that belongs to a group of the help, and knows what people type instead of it.

    Attributes:
        is_further: whether only ``--help all`` shows it.
    """

    def __init__(self, *declarations: Any, group: str = "", other_names: tuple[str, ...] = (), **settings: Any) -> None:
        super().__init__(*declarations, **settings)
        self.group = group
        self.other_names = other_names
        self.is_further = False


class GroupedCommand(click.Command):
    """A command whose help shows options in groups: those that most people need, or, with ``--help all``, all."""

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return an option whose value may be left out."""

        def show(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
            if value is not None and not ctx.resilient_parsing:
                ctx.meta[_ALL] = value == "all"
                click.echo(ctx.get_help(), color=ctx.color)
                ctx.exit()

        return click.Option(
            self.get_help_option_names(ctx),
            is_flag=False,
            flag_value="",
            is_eager=True,
            expose_value=False,
            callback=show,
            metavar="[all]",
            help="Show this message, or all options, and exit.",
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups."""
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in _TITLES}
        left_out = 0
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if getattr(option, "is_further", False) and not ctx.meta.get(_ALL):
                left_out += 1
            elif record is not None:
                title = _TITLES[-1] if _OF_ALL_COMMANDS.intersection(option.opts) else getattr(option, "group", "")
                groups.setdefault(title or _TITLES[0], []).append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"{left_out} further options: {ctx.command_path} --help all")


def write_command_groups(
    ctx: click.Context, formatter: click.HelpFormatter, group: click.Group, titles: Mapping[str, Iterable[str]]
) -> None:
    """Write commands of a group below titles.

    Args:
        titles: title → names of commands.
    """
    found = {title: list(names) for title, names in titles.items()}
    width = max(len(name) for names in found.values() for name in names)
    for title, names in found.items():
        commands = ((name, group.get_command(ctx, name)) for name in names)
        with formatter.section(title):
            # Long sentences are wrapped instead of truncated.
            formatter.write_dl(
                [(f"{name:<{width}}", command.get_short_help_str(_SENTENCE)) for name, command in commands if command]
            )


F = TypeVar("F", bound=Callable[..., Any])


class _Path(click.Path):
    """A path; a URL is refused before any work is done, with what to do instead."""

    def __init__(self, instead: str) -> None:
        super().__init__(path_type=Path)
        self._instead = instead

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if is_url(str(value)):
            shown = without_secret(str(value))
            raise ConfigurationError(f"{shown}: a URL; {self._instead.format(url=shown)}")
        return super().convert(value, param, ctx)


class _PathOrUrl(click.Path):
    """A path, or the text of a URL."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if is_url(str(value)) else super().convert(value, param, ctx)


PATH = _Path("download it first, and give the path of the file or folder")
READ_STORE = _Path("download it first: tts-prep fetch {url} FOLDER")
WRITTEN_STORE = _Path(
    "make or change the store in a folder, and upload it, the manifest last: aws s3 sync FOLDER {url} --exclude "
    "manifest.json, then aws s3 cp FOLDER/manifest.json {url}/manifest.json; or the same with rclone copy"
)
"""Stores that a command reads, and stores that it makes or changes."""
STORE_OR_URL = _PathOrUrl(path_type=Path)
OUTPUT_FOLDER = _Path("write to a folder, and upload it: aws s3 sync FOLDER {url}, or rclone copy FOLDER REMOTE:PATH")


_UNITS: Final = {"": 1, "b": 1} | {f"{unit}b": 1000**power for power, unit in enumerate("kmgt", 1)}
_UNITS_OF_TWO: Final = {f"{unit}ib": 1024**power for power, unit in enumerate("kmgt", 1)}


def _size_in_bytes(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Return a number of bytes, which may have a unit such as MB, GB or GiB."""
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([a-z]*)", value.strip().lower())
    unit = (_UNITS | _UNITS_OF_TWO).get(found[2]) if found else None
    size = int(Decimal(found[1]) * unit) if found and unit else 0
    if size < 1:
        raise click.BadParameter(f"expected a number of bytes, or one with a unit such as 200GB, found '{value}'")
    return size


def store_or_url(function: F) -> F:
    """Add the argument ``STORE``, a folder or a URL, ``--cache`` and ``--cache-size``."""
    size = click.option(
        "--cache-size",
        callback=_size_in_bytes,
        metavar="SIZE",
        help="With --cache: its maximum size, such as 200GB; the least recently used files are removed.",
    )
    cache = click.option(
        "--cache",
        type=PATH,
        metavar="FOLDER",
        is_eager=True,
        help="With a URL as STORE: the folder for copies of its files.",
    )
    return click.argument("store", type=STORE_OR_URL, callback=_check_cache)(cache(size(function)))


def check_has_cache(store: Path | str, cache: Path | None) -> None:
    """Check that a store at a URL has a folder for copies of its files.

    Raises:
        ConfigurationError: it has none.
    """
    if isinstance(store, str) and cache is None:
        raise ConfigurationError(
            f"{without_secret(store)}: a URL; give a folder for copies of its files: --cache FOLDER"
        )


def _check_cache(ctx: click.Context, _: click.Parameter, value: Path | str) -> Path | str:
    check_has_cache(value, ctx.params.get("cache"))
    if isinstance(value, Path) and ctx.params.get("cache") is not None:
        raise ConfigurationError(f"{value}: a folder needs no cache, which is for URLs; leave --cache out")
    if isinstance(value, str):
        ctx.with_resource(_warnings_in_a_line())
    return value


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Print warnings as errors are printed, without the place in our code."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", OfflineWarning)
        warnings.showwarning = lambda message, *_, **__: click.echo(one_line(str(message)), err=True)
        yield


class _OutputFile(click.Path):
    """A file to write, whose folder must exist and be writable: checked before any work is done."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from tts_prep.format.files.atomic import check_replaceable

        if is_url(str(value)):
            raise ConfigurationError(f"{without_secret(str(value))}: a URL; write to a file, and upload it")
        path: Any = super().convert(value, param, ctx)
        if not path.absolute().parent.is_dir():
            raise StoreError(
                f"{path}: cannot be written, there is no folder {path.parent}; make it, or give another path"
            )
        if not os.access(path.absolute().parent, os.W_OK | os.X_OK):
            raise StoreError(f"{path}: cannot be written, the folder {path.parent} is not writable; give another path")
        check_replaceable(path)
        return path


OUTPUT_FILE = _OutputFile(path_type=Path, dir_okay=False)


class Integer(click.IntRange):
    """An integer within bounds, which error messages call "integer" instead of "integer range"."""

    name = "integer"


def click_option(option: Option) -> GroupedOption:
    """Return the option of the command line for a record."""
    return GroupedOption(_flags(option), **_settings(option))


def _flags(option: Option) -> list[str]:
    return [*option.all_flags, option.name]


def _settings(option: Option) -> dict[str, Any]:
    """Return the keywords of `click.option` for a record."""
    settings: dict[str, Any] = {
        "help": option.help,
        "metavar": option.metavar,
        "group": option.group,
        "other_names": option.other_names,
    }
    if option.kind is bool:
        return {**settings, "default": option.default, "is_flag": True}
    if option.content:
        settings |= {"type": PATH, "callback": _text_of_file}
    elif option.none:
        settings["callback"] = partial(_number_or_none, _click_type(option))
    else:
        settings["type"] = _click_type(option)
    if option.default is not None:
        settings |= {"default": option.default, "show_default": True}
    if option.values:
        settings["shell_complete"] = completion(option.values)
    return {**settings, "multiple": option.repeated}


def _text_of_file(_: click.Context, __: click.Parameter, value: Path | None) -> str | None:
    if value is None:
        return None
    try:
        return read_regular(value, _MAX_CONTENT).decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{value}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{value}: expected UTF-8, found byte 0x{error.object[error.start]:02x}") from error


def _click_type(option: Option) -> Any:
    if option.choices:
        return click.Choice(list(option.choices))
    if option.kind is int:
        return Integer(option.minimum, option.maximum)
    return {str: click.STRING, float: click.FLOAT, Path: OUTPUT_FILE if option.output else PATH}[option.kind]


def _number_or_none(kind: Any, ctx: click.Context, param: click.Parameter, value: Any) -> float | str | None:
    """Return the number of an option, or ``none``, which unsets a setting."""
    number: float | str | None = value if value in (None, "none") else kind.convert(value, param, ctx)
    return number


def completion(values: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the completion of a shell for values that a function returns."""
    return lambda _, __, incomplete: [name for name in values() if name.startswith(incomplete)]


_MAX_CONTENT: Final = 1 << 16
"""The maximum length of a file whose text is the value of an option in bytes."""

OPTIONS: Final = OptionTable(__file__)
"""The options of all commands that make a store; ``tts-prep add`` has those of features and provenance, too."""


def record_option(option: Option) -> Callable[[F], F]:
    """Return a decorator that adds the option of a record to a command."""
    return click.option(*_flags(option), cls=GroupedOption, **_settings(option))


def with_options(table: OptionTable, section: str) -> Callable[[F], F]:
    """Return a decorator that adds the options of a section of a table to a command."""

    def decorate(function: F) -> F:
        for option in reversed(table[section]):
            function = record_option(option)(function)
        return function

    return decorate


_FIRST: Final = frozenset(
    (
        *("splits", "preset", "sample_rate", "trim_db", "frontend", "language", "symbols"),
        *("features", "alignments", "waveform_dtype", "update", "jobs"),
    )
)
"""The options of all corpora that are shown first; ``--help all`` shows the others."""


def corpus_options() -> list[GroupedOption]:
    """Return the options of all commands that make a store."""
    settings = (option for options in SETTINGS.values() for option in options)
    options = (*OPTIONS["corpus"], *settings, *OPTIONS["features"], *OPTIONS["provenance"], *OPTIONS["run"])
    names = {option.name for option in options}
    brought = [option for addition in additions("features") if not addition.add for option in addition.options]
    of_features = [
        replace(option, group=OPTIONS["features"][0].group) for option in brought if option.name not in names
    ]
    made = [click_option(option) for option in (*options, *of_features)]
    for option in made:
        option.is_further = option.name not in _FIRST
    return made


def takes(record: Callable[..., Any], options: Sequence[Option]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add options to a command, whose function gets the record of their values as its last argument."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(*arguments: Any, **values: Any) -> Any:
            of_record = {one.name: values.pop(one.name) for one in options}
            return function(*arguments, record(**of_record), **values)

        for one in reversed(options):
            record_option(one)(command)
        return command

    return decorate


@dataclass(frozen=True)
class Addition:
    """Options of ``tts-prep add``.

    Attributes:
        options: the options.
        add: adds to a store what an option asks for; None for options of features, which get their values.
    """

    options: tuple[Option, ...]
    add: Callable[[Path, Mapping[str, Any]], None] | None = None


def additions(key: str = "") -> Iterator[Addition]:
    """Yield what the rooms and other packages bring; of rooms, with a key, only rows that have it."""
    own = (row for row in doors.rows("additions").values() if not key or key in row.keys)
    for row in (*own, *doors.others("additions").values()):
        yield doors.load("additions", row, "addition", lambda found: isinstance(found, Addition), "an Addition")
