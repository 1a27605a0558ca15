"""``tts-prep frontends`` and ``tts-prep languages``."""

from __future__ import annotations

import click


@click.command()
def frontends() -> None:
    r"""List the text frontends, including those of other packages.

    \b
    Example:
      tts-prep frontends
    """
    from tts_prep.preprocess.text.frontends.registry import FRONTENDS, third_party_frontends

    for name, entry in FRONTENDS.items():
        click.echo(f"{name:<18}{entry.description}")
    for name, point in third_party_frontends().items():
        click.echo(f"{name:<18}{point.value}")


@click.command()
def languages() -> None:
    r"""List the languages of espeak-ng: the codes for --language, and their names.

    \b
    Example:
      tts-prep languages
    """
    from tts_prep.preprocess.text.frontends.espeak import espeak_languages
    from tts_prep.preprocess.text.language_codes import espeak_lacks

    for code, name in espeak_languages().items():
        lacks = espeak_lacks(code)
        click.echo(f"{code:<22}{name}{f' ({lacks})' if lacks else ''}")
