"""``tts-prep finish``."""

from pathlib import Path

import click

from tts_prep import doors
from tts_prep.cli.options import WRITTEN_STORE
from tts_prep.cli.verbosity import quiet_option, say


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
    from tts_prep.preprocess.make.parts import finish_store

    manifest = finish_store(store, max_failures=max_failures)
    say(made_text(store, manifest))
    if manifest.totals["failures"]:
        say(failures_text(store, manifest.totals["failures"]))
    doors.asked("sources", "outdated")(store)
