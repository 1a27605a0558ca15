"""``tts-prep recipes``."""

import click

from tts_prep.errors import ConfigurationError


@click.command()
@click.argument("name", required=False)
def recipes(name: str | None) -> None:
    r"""List the systems that are trained from stores, or print what to run for the system NAME.

    Printed are the commands that install what it needs and make a store, and the Python code that makes the first batch
    of it, or the command that writes the files on which the system is trained.

    \b
    Examples:
      tts-prep recipes
      tts-prep recipes matcha
    """
    import difflib

    from tts_prep.recipes.guides import GUIDES, PLACES

    if name is None:
        for guide in GUIDES.values():
            click.echo(f"{guide.name:<18}{guide.system + ':':<20}{guide.trains}")
        return
    if name.lower() not in GUIDES:
        near = difflib.get_close_matches(name.lower(), GUIDES, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(GUIDES)}"
        raise ConfigurationError(f"recipes: no recipe {name!r}; {hint}")
    guide = GUIDES[name.lower()]
    for word, meaning in PLACES.items():
        if word in guide.command:
            click.echo(f"# {word} is {meaning}.")
    click.echo(f"pip install {guide.install}\n{guide.command}\n\n{guide.code}", nl=False)
