"""``tts-prep remove``."""

import csv
import io
import sys
from collections.abc import Collection
from pathlib import Path

import click

from tts_prep import doors
from tts_prep.cli.options import WRITTEN_STORE, with_options
from tts_prep.cli.output import make_progress, quiet_option, say
from tts_prep.errors import ConfigurationError
from tts_prep.format.files.paths import read_regular
from tts_prep.preprocess.option import OptionTable
from tts_prep.quantities import count_text


@click.command()
@click.argument("store", type=WRITTEN_STORE)
@with_options(OptionTable(__file__), "remove")
@quiet_option
def remove(
    store: Path,
    columns: str | None,
    arrays: tuple[str, ...],
    ids: Path | None,
    speakers: tuple[str, ...],
    files: tuple[Path, ...],
) -> None:
    r"""Remove rows, added columns or arrays from a complete STORE.

    STORE changes only when the rest is complete; it is not changed in place. Nothing of removed rows remains in it: no
    array, text, id, statistic or failure. The corpus is not needed, and not changed: leave the rows out of it, too, or
    the next --update adds them again.

    \b
    Examples:
      tts-prep remove store --columns wer,cer
      tts-prep remove store --array pitch --array voiced
      tts-prep remove store --speaker p225 --file decisions.csv
      tts-prep remove store --ids withdrawn.txt
    """
    from tts_prep.additions.add_columns import remove_columns
    from tts_prep.corrections.rows import Corrections
    from tts_prep.removal.rows import ids_of, remove_rows

    names = [name.strip() for name in (columns or "").split(",") if name.strip()]
    if not any((names, arrays, ids, speakers)):
        raise ConfigurationError("nothing to remove; give --ids, --speaker, --columns or --array")
    with make_progress(sys.stderr) as progress:
        if names or arrays:
            remove_columns(store, names, arrays, progress=progress)
            doors.asked("sources", "removed")(store)
            say(f"{store}: removed {', '.join([*names, *arrays])}")
        if not ids and not speakers:
            return
        unwanted = {*(Corrections.read(exclude=ids).rows if ids else ()), *ids_of(store, speakers)}
        for file in files:
            say(f"{file}: removed {count_text(_remove_from(file, unwanted), 'row')}")
        found = remove_rows(store, unwanted, progress=progress)
    what = f"{count_text(found.rows, 'row')} and {count_text(found.failures, 'failed row')}"
    of = f"of {count_text(len(unwanted), 'id')}; {count_text(found.shards, 'shard')} written again"
    say(f"{store}: removed {what} {of}")
    for array in found.incomplete:
        lacks = "without values for" if array.is_kept else "left out, as it lacks"
        say(f"{array.spec.name}: {lacks} some rows; add it again")
    for todo, files_of in (("upload again", found.changed), ("delete elsewhere", found.gone)):
        for name in files_of:
            say(f"{todo}: {name}")


def _remove_from(path: Path, ids: Collection[str]) -> int:
    """Remove the rows with some ids from a CSV file; return how many there were."""
    from tts_prep.format.files.atomic import replacing
    from tts_prep.preprocess.corpora.lines import of_cell

    try:
        file, text = io.StringIO(read_regular(path, 1 << 30).decode("utf-8-sig"), newline=""), io.StringIO()
        rows = [*csv.reader(file, strict=True)]
        column = rows[0].index("id")
    except (OSError, ValueError, IndexError, csv.Error) as error:
        raise ConfigurationError(f"{path}: expected a CSV file with a column id ({error})") from error
    kept = [row for row in rows if len(row) <= column or of_cell(row[column]) not in ids]
    csv.writer(text, lineterminator="\n").writerows(kept)
    if len(kept) < len(rows):
        with replacing(path) as partial:
            partial.write_text(text.getvalue(), encoding="utf-8", newline="")
    return len(rows) - len(kept)
