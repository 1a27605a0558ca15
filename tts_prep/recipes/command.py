"""``tts-prep recipes``."""

import click

from tts_prep.errors import ConfigurationError


@click.command()
@click.argument("name", required=False)
def recipes(name: str | None) -> None:
    r"""List the systems that are trained from stores, or print what to run for the system NAME.

    Printed are the command that makes a store, and the Python code that makes the first batch of it, or the command
    that writes the files on which the system is trained.

    \b
    Examples:
      tts-prep recipes
      tts-prep recipes matcha
    """
    import difflib

    from tts_prep.recipes.guides import GUIDES

    if name is None:
        for guide in GUIDES.values():
            click.echo(f"{guide.name:<18}{guide.system + ':':<20}{guide.trains}")
        return
    if name.lower() not in GUIDES:
        near = difflib.get_close_matches(name.lower(), GUIDES, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(GUIDES)}"
        raise ConfigurationError(f"recipes: no recipe {name!r}; {hint}")
    guide = GUIDES[name.lower()]
    click.echo("# CORPUS is a folder in the layout of LJ Speech; other corpora have commands of their own.")
    if "OOD_TEXTS" in guide.command:
        click.echo("# OOD_TEXTS is a file with a text of another domain in each line.")
    if "MODULE:CLASS" in guide.command:
        click.echo("# MODULE:CLASS is your codec, whose arrays have the names that the export needs: docs/models.md.")
    click.echo(f"{guide.command}\n\n{guide.code}", nl=False)
