"""Help texts with options and commands in named groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import click

from tts_prep.cli.options import SETTINGS

_OPTION_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "The corpus": ("root", "columns", "mic", "subsets", "splits", "limit"),
    "Mels": ("preset", "vocoder_config", "config", *SETTINGS["audio"].values()),
    "Cleaning": (*SETTINGS["cleaning"].values(),),
    "Texts": ("text", *SETTINGS["text"].values()),
    "Features": ("features", "alignments", "arrays"),
    "The store": (*SETTINGS["store"].values(), "overwrite", "update"),
    "The run": ("jobs", "backend", "scheduler", "part", "max_failures", "quiet", "verbose", "debug", "help"),
}
"""Title → names of options, in the order of output."""

_SENTENCE: Final = 200
"""The maximum length of a description in a list of commands, longer than any sentence."""


class GroupedCommand(click.Command):
    """A command whose help shows options in groups. Options without a group are in the first one."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups."""
        group_of = {name: title for title, names in _OPTION_GROUPS.items() for name in names}
        first = next(iter(_OPTION_GROUPS))
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in _OPTION_GROUPS}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                # The name of the option --help depends on the version of click.
                name = "help" if "--help" in option.opts else option.name or ""
                groups[group_of.get(name, first)].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def write_command_groups(
    ctx: click.Context,
    formatter: click.HelpFormatter,
    group: click.Group,
    titles: Mapping[str, Iterable[str]],
) -> None:
    """Write the commands of a group below titles. Commands without a title are below the first one.

    Args:
        titles: title → names of commands.
    """
    found = {title: list(names) for title, names in titles.items()}
    known = {name for names in found.values() for name in names}
    next(iter(found.values())).extend(name for name in group.list_commands(ctx) if name not in known)
    width = max(len(name) for names in found.values() for name in names)
    for title, names in found.items():
        commands = ((name, group.get_command(ctx, name)) for name in names)
        with formatter.section(title):
            # Long sentences are wrapped instead of truncated.
            formatter.write_dl(
                [(f"{name:<{width}}", command.get_short_help_str(_SENTENCE)) for name, command in commands if command]
            )
