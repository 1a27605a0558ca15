"""``tts-prep features``."""

from __future__ import annotations

import click


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
def features(names: tuple[str, ...]) -> None:
    r"""List the features for --feature with their settings, including those of other packages.

    NAME is a feature, or MODULE:CLASS, which is imported.

    \b
    Examples:
      tts-prep features
      tts-prep features my_codec:Tokens
    """
    from tts_prep import doors
    from tts_prep.errors import one_line
    from tts_prep.preprocess.features.registry import all_features, get_feature

    others = doors.others("features")
    for kind in [get_feature(name) for name in names] or all_features():
        of = f" ({others[kind.name].place})" if kind.name in others else ""
        click.echo(one_line(f"{kind.name:<13} {kind.help}{of}"))
        for name, default, text in kind.explained():
            shown = f"{text} [{default}]" if default else text
            click.echo(one_line(f"  {name:<11} {shown}"))
