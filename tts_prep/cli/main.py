"""The command ``tts-prep``: its subcommands, and error handling."""

import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Any, Final, NoReturn

import click

from tts_prep import __version__, doors
from tts_prep.cli import interruption
from tts_prep.cli.commands import corpus_command, registered_command, registered_corpus
from tts_prep.cli.options import WRITTEN_STORE, write_command_groups
from tts_prep.errors import CannotReadError, ConfigurationError, TtsPrepError, one_line
from tts_prep.preprocess.corpora.corpus import CORPORA

_DEBUG = "--debug"

_MAKE: Final = "Make, complete or extend a store"
_GROUPS: Final = (_MAKE, "Inspect a store", "Verify and repair a store", "Export a store", "List values of options")
"""The titles of commands, in the order of the help."""


class _Own(MutableMapping[str, click.Command]):
    """The commands of this package by name. A command is imported, or made of its corpus, when it is taken."""

    def __init__(self) -> None:
        self._made: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._made:
            row = doors.rows("commands").get(name)
            self._made[name] = _completed(row.load() if row else corpus_command(CORPORA[name]))
        return self._made[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(CORPORA), **doors.rows("commands"), **self._made})

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Commands(click.Group):
    """The commands of this package and of others, and one per corpus."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        others = (name for door in ("corpora", "commands") for name in doors.others(door))
        return [*super().list_commands(ctx), *(name for name in others if name not in self.commands)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None and (row := doors.others("commands").get(cmd_name)):
            return _completed(registered_command(row))
        if command is None and cmd_name in doors.others("corpora"):
            return _completed(registered_corpus(cmd_name))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        corpora = [*CORPORA, *doors.others("corpora")]
        with formatter.section("Make a store of recordings, with CORPUS and STORE as arguments"):
            formatter.write_text(", ".join(corpora))
        groups: dict[str, list[str]] = {title: [] for title in _GROUPS}
        for row in sorted(doors.rows("commands").values(), key=lambda row: not row.first):
            groups[row.group].append(row.name)
        groups[_MAKE] += doors.others("commands")
        write_command_groups(ctx, formatter, self, {title: names for title, names in groups.items() if names})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            if hint := doors.asked("hints", "command")(args[0], self.list_commands(ctx)):
                raise click.UsageError(f"No such command {args[0]!r}{hint}", ctx) from None
            raise


def _completed(command: click.Command) -> click.Command:
    """Add the option ``--debug`` to a command, and keep the line breaks of examples in its help."""
    command.params.append(
        click.Option([_DEBUG], is_flag=True, expose_value=False, help="Show a traceback with an error.")
    )
    command.help = _paragraphs(command.help)
    if command.callback and any(option.type is WRITTEN_STORE for option in command.params):
        command.callback = _kept_in_history(command.callback)
    return command


def _kept_in_history(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a command that writes to a store, which keeps a line about it beside the store."""

    @wraps(run)
    def recorded(**options: Any) -> Any:
        arguments = click.get_current_context().obj or ()
        # What is removed is not named.
        is_removed = options.get("ids") or options.get("speakers")
        kept = doors.asked("sources", "history")(options["store"], arguments[:1] if is_removed else arguments)
        with kept or nullcontext():
            return run(**options)

    return recorded


def _paragraphs(text: str | None) -> str:
    # click does not wrap a paragraph after a backspace character, which raw docstrings contain as two characters.
    return (text or "").replace("\\b\n", "\b\n")


@click.group(
    cls=_Commands, commands=_Own(), context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option(_DEBUG, is_flag=True, expose_value=False, help="Show a traceback with an error.")
def cli() -> None:
    r"""Prepare a text-to-speech corpus for training: mel spectrograms and phoneme ids in one store.

    \b
    Examples:
      tts-prep demo demo                        run all steps on a synthesized corpus
      tts-prep ljspeech LJSpeech-1.1 store      make a store of a corpus
      tts-prep info store                       show its contents
      tts-prep report store -o report.html      make a page to review before training
    """


cli.help = _paragraphs(cli.help)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with 0 (success), 1 (failure), 2 (wrong usage), 3 or 128 + signal number.

    The status 3 says that a file cannot be read on this system at present. Errors are one line on stderr, with a
    traceback if ``--debug`` is given.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    _open_closed_streams()
    # File names may not be encodable in the terminal's encoding.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    with interruption.ending_in_order():
        _run(arguments)


def _open_closed_streams() -> None:
    """Redirect closed standard streams to the null device, so that no other file gets their descriptors."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _run(arguments: Sequence[str]) -> NoReturn:
    try:
        with interruption.converted():
            status = cli.main(arguments, prog_name="tts-prep", standalone_mode=False, color=_color(), obj=arguments)
        interruption.check()
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        sys.exit(2)
    except click.ClickException as error:
        _fail_usage(error, arguments)
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):
            # click converts any EOFError to Abort.
            _fail("a file is truncated or empty; --debug shows which", 1, arguments)
        _fail_interrupted(error, arguments)
    except ConfigurationError as error:
        _fail(str(error), 2, arguments)
    except CannotReadError as error:
        _fail(str(error), 3, arguments)
    except TtsPrepError as error:
        _fail(str(error), 1, arguments)
    except MemoryError:
        _fail(f"out of memory{'; use fewer --jobs' if _has_jobs(arguments) else ''}", 1, arguments)
    except ModuleNotFoundError as error:
        message = _missing_module_text(error)
        if message is None:
            raise
        _fail(message, 1, arguments)
    except BrokenPipeError:
        # The reader of the output has ended. Closing stderr avoids a message of Python at exit.
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        _fail(_fault_text(error), 1, arguments)


def _fault_text(error: OSError) -> str:
    # Every file is written by code that names it, so that what has no name is what a command prints.
    is_output = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    where = f"{error.filename}: " if error.filename else "standard output: cannot be written: " if is_output else ""
    return f"{where}{error.strerror or error}"


def _has_jobs(arguments: Sequence[str]) -> bool:
    """Return whether the command of these arguments has the option ``--jobs``."""
    name = next((argument for argument in arguments if not argument.startswith("-")), "")
    command = cli.get_command(click.Context(cli), name)
    return command is not None and any(option.name == "jobs" for option in command.params)


def _color() -> bool | None:
    """Return False if NO_COLOR is set, which disables colours; None enables them in a terminal only."""
    return False if os.environ.get("NO_COLOR") else None


def _missing_module_text(error: ModuleNotFoundError) -> str | None:
    """Return what to do about a module that is not there; None if it is none that may be missing."""
    if error.name in ("fcntl", "resource"):
        return "this command needs Linux or macOS; on Windows, the loader, info, plan, check, report and export work"
    return missing_library(error.name)


def _fail_usage(error: click.ClickException, arguments: Sequence[str]) -> NoReturn:
    """End with what is wrong with the arguments, and the command whose help explains them."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "tts-prep"
    message = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption) and path == "tts-prep":
        message += "; options come after the command"
    elif isinstance(error, click.NoSuchOption) and (hint := doors.asked("hints", "option")(error)):
        message = f"No such option '{error.option_name}'; {hint}"
    _fail(f"{message}{' See' if message.endswith('?') else '; see'} '{path} --help'", 2, arguments)


def _fail_interrupted(error: BaseException, arguments: Sequence[str]) -> NoReturn:
    """End with the status of the signal, and with how to go on."""
    number = interruption.received or signal.SIGINT
    fault = interruption.later_fault(error)
    then = f", and then: {_fault_text(fault)}" if fault else ""
    row = doors.rows("commands").get(arguments[0] if arguments else "")
    resume = " to resume" if row is None or row.group == _MAKE else ""
    _fail(f"interrupted{then}; run the same command again{resume}", 128 + number, arguments)


def _fail(message: str, status: int, arguments: Sequence[str]) -> NoReturn:
    if _DEBUG in arguments:
        traceback.print_exc()
    label = click.style("tts-prep: error:", fg="red", bold=True)
    click.echo(f"{label} {one_line(' '.join(message.split()), 4000)}", err=True, color=_color())
    sys.exit(status)


def missing_library(name: str | None) -> str | None:
    """Return the error message for a library that cannot be imported; None if no extra installs it."""
    library = (name or "").partition(".")[0]
    extra = doors.libraries().get(library)
    return f"this command needs {library}, which is not installed: pip install 'tts-prep[{extra}]'" if extra else None
