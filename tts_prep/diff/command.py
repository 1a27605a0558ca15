"""``tts-prep diff``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tts_prep.cli.options import PATH, STORE_OR_URL, check_has_cache
from tts_prep.cli.output import quiet_option, say
from tts_prep.errors import ConfigurationError, TtsPrepError, one_line
from tts_prep.format.files.paths import is_url
from tts_prep.quantities import count_text

if TYPE_CHECKING:
    from tts_prep.diff.stores import StoreDifference

_MAX_SHOWN = 12
_MAX_IDS = 5


@click.command()
@click.argument("first", type=STORE_OR_URL)
@click.argument("second", type=STORE_OR_URL)
@click.option("--cache", type=PATH, metavar="FOLDER", help="With a URL: the folder for copies of its files.")
@click.option("--json", "as_json", is_flag=True, help="Print all differences, with all ids, as JSON.")
@quiet_option
@click.pass_context
def diff(ctx: click.Context, first: Path | str, second: Path | str, cache: Path | None, as_json: bool) -> None:
    r"""Show what differs between two stores, FIRST and SECOND: folders or URLs.

    Settings, versions, rows that only one has, and common rows by what they differ in: recording, text, speaker,
    phones by the dictionary or the symbol table, settings, or versions of libraries; columns, arrays and statistics.

    The status is 0 if nothing differs, 1 if something does, and 2 after an error.

    \b
    Examples:
      tts-prep diff store-monday store-tuesday
      tts-prep diff store-monday store-tuesday --json
      tts-prep diff store s3://bucket/store --cache cache
    """
    from tts_prep.diff.stores import CAUSES, compare_stores
    from tts_prep.loader.dataset.store import Store

    for store in (first, second):
        check_has_cache(store, cache)
    try:
        one, two = (Store(path, cache=cache if is_url(path) else None) for path in (first, second))
        found = compare_stores(one, two)
    except (TtsPrepError, OSError) as error:
        # 1 says that the stores differ.
        raise ConfigurationError(str(error)) from error
    if as_json:
        text = json.dumps({"same": found.is_same, **asdict(found)}, indent=1, ensure_ascii=False)
        # Escape control characters, which can only be in strings.
        say("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))
    else:
        for title, line in _lines(found, CAUSES):
            say(one_line(f"{title:<12} {line}", 2000))
    ctx.exit(0 if found.is_same else 1)


def _lines(found: StoreDifference, causes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield a title and a line for each difference, at most a screen of them."""
    if found.is_same:
        yield "same", f"nothing differs in {count_text(found.n_common, 'row')}"
        return
    statistics = [("", *values) for values in found.statistics]
    for title, settings in (("settings", found.settings), ("versions", found.versions), ("statistics", statistics)):
        for table, name, a, b in settings[:_MAX_SHOWN]:
            where = name if table in ("", "general", "software", "format") else f"{table}.{name}"
            yield title, f"{where} is {a or 'not set'} in the first, {b or 'not set'} in the second"
        if len(settings) > _MAX_SHOWN:
            yield title, f"and {len(settings) - _MAX_SHOWN} more"
    for side, ids in (("first", found.only_first), ("second", found.only_second)):
        if ids:
            yield "rows", f"{count_text(len(ids), 'row')} only in the {side}: {_shown(ids)}"
    for cause, ids in found.rows.items():
        yield cause, f"{count_text(len(ids), 'row')} with {causes[cause]}: {_shown(ids)}"
    for title, changes in (("column", found.columns), ("array", found.arrays)):
        for name, change in [*changes.items()][:_MAX_SHOWN]:
            what, ids = change
            yield title, f"{name}: {what or count_text(len(ids), 'row') + ': ' + _shown(ids)}"
        if len(changes) > _MAX_SHOWN:
            yield title, f"and {len(changes) - _MAX_SHOWN} more"
    if found.files:
        yield "files", ", ".join(name.removesuffix("_file") for name in found.files)


def _shown(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_MAX_IDS]) + (", …" if len(ids) > _MAX_IDS else "")
