"""``tts-prep review`` and ``tts-prep merge-decisions``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tts_prep.cli.options import OUTPUT_FILE, PATH, READ_STORE, with_options
from tts_prep.cli.output import quiet_option, say, warn_without_compiler
from tts_prep.errors import ConfigurationError, one_line
from tts_prep.preprocess.option import OptionTable
from tts_prep.quantities import count_text

if TYPE_CHECKING:
    from tts_prep.review.merging import Merged
    from tts_prep.review.pages import Pages
    from tts_prep.review.server import ReviewServer

_LONGEST_END = 5.0
"""Seconds that the end of a review waits for the end of measuring."""


@click.command()
@click.argument("store", type=READ_STORE)
@with_options(OptionTable(__file__), "review")
@quiet_option
def review(store: Path, decisions_file: Path, port: int, corpus: Path | None, root: Path | None) -> None:
    r"""Serve a page on which the utterances of STORE are found, heard, marked and corrected.

    The command prints the address of the page and serves it until it is interrupted with Ctrl-C. Only this machine can
    open it, and only with the address. The page sorts and filters all utterances by every column and measure, plays
    them, and shows waveform, mel, pitch and phones. Each decision (keep, drop, unsure, a corrected text or speaker, a
    note) is written to the file at once; the store is not changed. A large store opens at once if its index has the
    measures ('tts-prep add STORE --measures').

    \b
    Examples:
      tts-prep review store
      tts-prep review store --decisions anna.csv --corpus LJSpeech-1.1
    """
    from tts_prep.checks.measuring import holds_measures
    from tts_prep.loader import UtteranceDataset
    from tts_prep.review.decisions import DecisionFile
    from tts_prep.review.pages import Pages
    from tts_prep.review.server import ReviewServer
    from tts_prep.review.sounds import Sounds

    dataset = UtteranceDataset(store)
    with ExitStack() as stack:
        decisions = stack.enter_context(DecisionFile(decisions_file))
        sounds = Sounds(dataset, corpus, root)
        stack.callback(sounds.close)
        pages = Pages(dataset, decisions, sounds)
        server = stack.enter_context(ReviewServer(pages, port))
        if holds_measures(dataset):
            pages.measure()
        else:
            warn_without_compiler()
            stack.enter_context(_measuring(pages))
        say(f"{count_text(len(dataset), 'utterance')}; decisions are written to {decisions_file}")
        _serve(server)
    counts = pages.table.counts()
    are = "is" if 1 in (counts["decided"], counts["utterances"]) else "are"
    of = count_text(counts["utterances"], "utterance")
    say(f"{decisions_file}: {counts['decided']:,} of {of} {are} decided{decisions.pace()}")


@contextmanager
def _measuring(pages: Pages) -> Iterator[None]:
    """Measure the store in another thread during a block; its end is waited for, which takes long while it compares."""

    def measure() -> None:
        pages.measure()
        if pages.fault:
            click.echo(pages.fault, err=True)

    thread = threading.Thread(target=measure, daemon=True)
    thread.start()
    try:
        yield
    finally:
        pages.end()
        thread.join(_LONGEST_END)


def _serve(server: ReviewServer) -> None:
    """Print the address and serve until a signal arrives, which is how a review ends, also while it is printed."""
    from tts_prep.cli import interruption

    try:
        say(f"open {click.style(server.address, fg='cyan')}")
        server.serve_forever()
    except KeyboardInterrupt:
        interruption.forget()


@click.command("merge-decisions")
@click.argument("decision_files", type=PATH, nargs=-1, required=True, metavar="FILE...")
@click.option("--output", "-o", type=OUTPUT_FILE, metavar="FILE", help="Write the merged decisions.")
@quiet_option
def merge_decisions(decision_files: tuple[Path, ...], output: Path | None) -> None:
    r"""Merge the decisions of several reviewers, and show where they contradict.

    A cell that one reviewer leaves empty is that of another. Where reviewers contradict, 'keep' becomes 'unsure', and a
    text, a speaker or the score of a further column stays empty. The agreement of each two reviewers is Cohen's kappa:
    1 is full agreement, 0 that of chance. The exit status is 1 if there are contradictions.

    \b
    Example:
      tts-prep merge-decisions anna.csv ben.csv -o decisions.csv
    """
    from tts_prep.review.decisions import only_writer, read_table, write_decisions
    from tts_prep.review.merging import merge

    if len({*decision_files}) < 2 or len({*decision_files}) < len(decision_files):
        raise ConfigurationError("merge-decisions: expected two or more different files")
    tables = {str(path): read_table(path) for path in decision_files}
    merged = merge({name: of[0] for name, of in tables.items()}, {name: of[1] for name, of in tables.items()})
    for line in _merged_lines(merged):
        say(line)
    if output is not None:
        with only_writer(output):
            write_decisions(output, merged.decisions, merged.others)
        say(f"{output}: {count_text(len(merged.decisions), 'utterance')}")
    if merged.conflicts:
        click.get_current_context().exit(1)


def _merged_lines(merged: Merged) -> Iterator[str]:
    for conflict in merged.conflicts:
        values = ", ".join(f"{value!r} ({name})" for name, value in conflict.values.items())
        yield one_line(f"{conflict.id}: {conflict.field}: {values}")
    for agreement in merged.agreements:
        names = " and ".join(agreement.reviewers)
        kappa = "not defined" if agreement.kappa != agreement.kappa else f"{agreement.kappa:.2f}"
        share = f"{agreement.equal:,} of {count_text(agreement.both, 'common decision')} equal"
        yield one_line(f"{names}: {share}, Cohen's kappa {kappa}")
    yield f"{count_text(len(merged.conflicts), 'contradiction')}"
