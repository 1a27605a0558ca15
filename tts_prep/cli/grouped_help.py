"""Help texts with options and commands in named groups."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

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
