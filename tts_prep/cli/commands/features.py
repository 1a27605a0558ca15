"""``tts-prep features``."""

from __future__ import annotations

import click


@click.command()
def features() -> None:
    r"""List the features for --feature with their settings, including those of other packages.

    \b
    Example:
      tts-prep features
    """
    from tts_prep.errors import one_line
    from tts_prep.preprocess.features.registry import all_features, third_party_features

    others = third_party_features()
    for kind in all_features():
        of = f" ({others[kind.name].value})" if kind.name in others else ""
        click.echo(one_line(f"{kind.name:<14}{kind.help}{of}"))
        for name, default, text in kind.explained():
            shown = f"{text} [{default}]" if default else text
            click.echo(one_line(f"  {name:<12}{shown}"))
