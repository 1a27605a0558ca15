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
    from tts_prep import doors

    for row in (*doors.rows("frontends").values(), *doors.others("frontends").values()):
        click.echo(f"{row.name:<18}{row.about or row.place}")


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
