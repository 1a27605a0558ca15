"""The commands that list values of options: corpora, presets, features, frontends, languages and symbols."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tts_prep import doors
from tts_prep.cli.options import completion, write_command_groups
from tts_prep.errors import one_line
from tts_prep.preprocess.configuration import preset_names, symbol_tables

if TYPE_CHECKING:
    from tts_prep.preprocess.audio.presets import Preset

_WIDTH = 27
_COLUMNS = ("sample_rate", "n_fft", "win_length", "hop_length", "n_mels", "fmin", "fmax", "compression")


@click.command()
@click.argument("names", metavar="[NAME] [NAME]", nargs=-1, shell_complete=completion(preset_names))
def presets(names: tuple[str, ...]) -> None:
    r"""List the mel presets, print the settings of one, or where two differ.

    The list shows the sample rate, the lengths of transform, window and hop in samples, the number of mel bins, the
    band in Hz, and the other settings that differ from those of the first preset. A preset with the same settings as
    an earlier one refers to it. The output for one NAME is a file for --config.

    \b
    Examples:
      tts-prep presets
      tts-prep presets hifigan
      tts-prep presets tacotron2 hifigan
    """
    from tts_prep.preprocess.audio.presets import DEFAULT_PRESET, DESCRIPTIONS, get_preset

    if len(names) > 2:
        raise click.UsageError(f"expected at most two presets, found {len(names)}")
    if not names:
        _list_presets(DESCRIPTIONS.values(), get_preset(DEFAULT_PRESET))
    elif len(names) == 1:
        _print_settings(get_preset(names[0]))
    else:
        _print_differences(get_preset(names[0]), get_preset(names[1]))


def _list_presets(presets: Iterable[Preset], default: Preset) -> None:
    click.echo(f"{'':<{_WIDTH}}{'rate':>8}  {'n_fft/window/hop':<17} {'bins':>4}  band")
    earlier: dict[str, str] = {}
    for preset in presets:
        config = preset.config
        sizes = f"{config.n_fft}/{config.win_length}/{config.hop_length}"
        band = f"{config.fmin:g}–{config.fmax:g}"
        rest = _further(preset, default)
        row = f"{config.sample_rate:>6} Hz  {sizes:<17} {config.n_mels:>4}  {band:<10} {rest}".rstrip()
        same = earlier.setdefault(row, preset.name)
        click.echo(f"{preset.name:<{_WIDTH}}{row if same == preset.name else f'as {same}'}")


def _print_settings(preset: Preset) -> None:
    click.echo(f"# {preset.source}\npreset = {_toml(preset.name)}")
    for table, values in _tables(preset).items():
        if values:
            click.echo(f"\n[{table}]")
        for key, value in values.items():
            click.echo(f"{key} = {_toml(value)}")


def _print_differences(one: Preset, other: Preset) -> None:
    rows = []
    for table, values in _tables(one).items():
        others = _tables(other)[table]
        for key in dict.fromkeys([*values, *others]):
            a, b = ("" if key not in found else _toml(found[key]) for found in (values, others))
            if a != b:
                rows.append(
                    (f"{table}.{key}", *(_count(found.get(key)) or text for found, text in ((values, a), (others, b))))
                )
    if not rows:
        click.echo(f"{one.name} and {other.name} have the same settings")
        return
    widths = [max(len(row[i]) for row in [("", one.name, other.name), *rows]) for i in range(3)]
    for row in [("", one.name, other.name), *rows]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _tables(preset: Preset) -> dict[str, dict[str, object]]:
    """Return the settings of a preset by table of a configuration file."""
    settings = asdict(preset.config) | asdict(preset.reading)
    compression = settings.pop("compression")
    return {"audio": settings, "audio.compression": compression, "text": dict(preset.text)}


def _further(preset: Preset, default: Preset) -> str:
    """Return the settings of a preset that have no column and are not those of the default preset."""
    found = []
    for own, usual in (
        (preset.config, default.config),
        (preset.config.compression, default.config.compression),
        (preset.reading, default.reading),
    ):
        for key, value in asdict(own).items():
            if key not in _COLUMNS and value != getattr(usual, key):
                found.append(f"{key} {_brief(value)}")
    found += [f"{key} {value}" for key, value in preset.text.items()]
    return ", ".join(found)


def _brief(value: object) -> str:
    if value is None:
        return "none"
    return _count(value) or (f"{value:g}" if type(value) is float else str(value))


def _count(value: object) -> str:
    """Return the number of numbers in a setting; nothing if it is a single value."""
    return f"{len(value)} numbers" if isinstance(value, tuple) else ""


def _toml(value: object) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, tuple):
        return repr([*value])
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


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
    from tts_prep.preprocess.features.kinds import all_features, get_feature

    others = doors.others("features")
    for kind in [get_feature(name) for name in names] or all_features():
        of = f" ({others[kind.name].place})" if kind.name in others else ""
        click.echo(one_line(f"{kind.name:<13} {kind.help}{of}"))
        for name, default, text in kind.explained():
            shown = f"{text} [{default}]" if default else text
            click.echo(one_line(f"  {name:<11} {shown}"))


@click.command()
@click.pass_context
def corpora(ctx: click.Context) -> None:
    r"""List the commands that make a store of recordings, and which corpora or layouts they read.

    \b
    Example:
      tts-prep corpora
    """
    from tts_prep.preprocess.corpora.corpus import CORPORA

    assert ctx.parent is not None
    assert isinstance(ctx.parent.command, click.Group)
    formatter = ctx.make_formatter()
    write_command_groups(ctx.parent, formatter, ctx.parent.command, {"Corpora": [*CORPORA, *doors.others("corpora")]})
    click.echo(formatter.getvalue().strip())


@click.command()
def frontends() -> None:
    r"""List the text frontends, including those of other packages.

    \b
    Example:
      tts-prep frontends
    """
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


@click.command()
@click.argument("name", required=False, shell_complete=completion(symbol_tables))
def symbols(name: str | None) -> None:
    r"""List the symbol tables, or print the table NAME.

    The output for NAME is a file for --symbols: one symbol per line, in the order of ids.

    \b
    Examples:
      tts-prep symbols
      tts-prep symbols piper
    """
    from tts_prep.preprocess.text.symbols import TABLES, get_table

    if name is None:
        for table in TABLES.values():
            click.echo(f"{table.name:<21}{len(table.symbols):>4} symbols  {table.made_for}")
        return
    for symbol in get_table(name).symbols:
        click.echo(symbol)
