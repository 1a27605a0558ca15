"""The commands of the core: those that make a store of a corpus, one for each record of a `Corpus`, and finish."""

import inspect
from pathlib import Path
from typing import Any

import click

from tts_prep import doors
from tts_prep.cli.options import PATH, WRITTEN_STORE, GroupedCommand, click_option, corpus_options
from tts_prep.cli.output import quiet_option, say, verbosity_options
from tts_prep.doors import Row
from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.corpora.corpus import Corpus, get_corpus


def corpus_command(corpus: Corpus) -> click.Command:
    """Return the command that makes a store of a corpus.

    Raises:
        ConfigurationError: the corpus has an option that all commands have.
    """

    def run(source: Path | tuple[Path, ...], store: Path, root: Path | None = None, **options: Any) -> None:
        from tts_prep.cli.preparing import prepare_and_report

        # Options that were not given are not recorded in the configuration.
        found = {option.name: options.pop(option.name) for option in corpus.options}
        given = {name: value for name, value in found.items() if value not in (None, "", ())}
        # The order of repeated options is irrelevant.
        given = {name: sorted(value) if isinstance(value, tuple) else value for name, value in given.items()}
        folder = source if isinstance(source, Path) else Path()
        if corpus.sources and not isinstance(source, Path):
            folder, named = corpus.sources(source)
            given = {**named, **given}
        prepare_and_report(corpus.name, folder, store, options, root=root, reader_options=given)

    own = [click_option(option) for option in corpus.options]
    common = corpus_options()
    if same := {flag for option in own for flag in option.opts} & {flag for option in common for flag in option.opts}:
        raise ConfigurationError(f"corpus {corpus.name!r}: the option {min(same)} is one of all corpora; rename it")
    make = click.command(corpus.name, cls=GroupedCommand, help=inspect.cleandoc(corpus.help))
    command = make(verbosity_options(run))
    command.params[:0] = [*_arguments(corpus), *own, *common]
    return command


def _arguments(corpus: Corpus) -> list[click.Parameter]:
    many: dict[str, Any] = {"nargs": -1, "required": True} if corpus.sources else {}
    return [
        click.Argument(["source"], type=PATH, metavar=corpus.source, **many),
        click.Argument(["store"], type=WRITTEN_STORE),
        *([click.Option(["--root"], type=PATH, metavar="DIR", help=corpus.root)] if corpus.root else []),
    ]


def registered_corpus(name: str) -> click.Command:
    """Return the command of another package's corpus.

    If its package cannot be loaded, the command says so when it runs, and other commands work.
    """
    try:
        return corpus_command(get_corpus(name))
    except ConfigurationError as error:
        return _broken_command(name, error)


def registered_command(row: Row) -> click.Command:
    """Return the command of another package; if it cannot be loaded, it says so when it runs."""
    try:
        command: click.Command = doors.load("commands", row, "command", _is_command, "a command of click")
    except ConfigurationError as error:
        return _broken_command(row.name, error)
    return command


def _is_command(found: object) -> bool:
    return isinstance(found, click.Command)


def _broken_command(name: str, error: ConfigurationError) -> click.Command:
    def run(**_: Any) -> None:
        raise error

    return click.Command(
        name,
        callback=run,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        help=f"This command does not work: {error}",
    )


@click.command()
@click.argument("store", type=WRITTEN_STORE)
@click.option(
    "--max-failures", default="1%", show_default=True, metavar="N|P%", help="Fail if more rows than this failed."
)
@quiet_option
def finish(store: Path, max_failures: str) -> None:
    r"""Complete STORE once all of its parts are made: write the failure list, the index and the manifest.

    Make the parts with a corpus command and --part K/N, in any order, on one or several machines.

    \b
    Example:
      tts-prep ljspeech LJSpeech-1.1 store --part 1/2
      tts-prep ljspeech LJSpeech-1.1 store --part 2/2
      tts-prep finish store
    """
    from tts_prep.cli.preparing import failures_text, made_text
    from tts_prep.preprocess.make.resuming import finish_store

    manifest = finish_store(store, max_failures=max_failures)
    say(made_text(store, manifest))
    if manifest.totals["failures"]:
        say(failures_text(store, manifest.totals["failures"]))
    doors.asked("sources", "outdated")(store)
