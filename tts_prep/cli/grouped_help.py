"""Help texts with options and commands in named groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

_TITLES: Final = ("The corpus", "Mels", "Cleaning", "Texts", "Features", "The store", "The run")
"""The titles of groups in the order of output; options without a group are in the first one."""

_OF_ALL_COMMANDS: Final = frozenset(("--quiet", "--verbose", "--debug", "--help"))
"""Options in the last group."""

_SENTENCE: Final = 200
"""The maximum length of a description in a list of commands, longer than any sentence."""


class GroupedOption(click.Option):
    """An option that belongs to a group of the help, and knows what people type instead of it."""

    def __init__(self, *declarations: Any, group: str = "", other_names: tuple[str, ...] = (), **settings: Any) -> None:
        super().__init__(*declarations, **settings)
        self.group = group
        self.other_names = other_names


class GroupedCommand(click.Command):
    """A command whose help shows options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups."""
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in _TITLES}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                title = _TITLES[-1] if _OF_ALL_COMMANDS.intersection(option.opts) else getattr(option, "group", "")
                groups.setdefault(title or _TITLES[0], []).append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def write_command_groups(
    ctx: click.Context, formatter: click.HelpFormatter, group: click.Group, titles: Mapping[str, Iterable[str]]
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
