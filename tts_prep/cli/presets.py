"""``tts-prep presets``."""

from __future__ import annotations

import click

from tts_prep.cli.options import complete_preset


@click.command()
@click.argument("name", required=False, shell_complete=complete_preset)
def presets(name: str | None) -> None:
    r"""List the mel presets, or print the settings of NAME.

    The output for NAME is a file for --config with the same settings.

    \b
    Example:
      tts-prep presets hifigan
    """
    from dataclasses import asdict

    from tts_prep.preprocess.audio.presets import DESCRIPTIONS, get_preset

    if name is None:
        for preset in DESCRIPTIONS.values():
            config = preset.config
            sizes = f"{config.n_fft}/{config.win_length}/{config.hop_length}"
            band = f"{config.fmin:g}–{config.fmax:g} Hz"
            peak = "level kept" if config.peak is None else f"peak {config.peak:g}"
            click.echo(
                f"{preset.name:<27}{config.sample_rate:>6} Hz  {sizes:<14}  {config.n_mels:>3} bins  {band:<12}  "
                f"{config.framing:<8}{peak:<11} {config.compression.log} {config.compression.floor:g}"
            )
        return
    preset = get_preset(name)
    click.echo(f"# {preset.source}\npreset = {_toml(preset.name)}\n\n[audio]")
    settings = asdict(preset.config) | asdict(preset.reading)
    compression = settings.pop("compression")
    for table, values in (("", settings), ("audio.compression", compression), ("text", preset.text)):
        if table and values:
            click.echo(f"\n[{table}]")
        for key, value in values.items():
            click.echo(f"{key} = {_toml(value)}")


def _toml(value: object) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)
