"""Write docs/presets.md from the presets themselves: ``python docs/make_presets.py``."""

from __future__ import annotations

from pathlib import Path

from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.presets import DEFAULT_PRESET, DESCRIPTIONS

PAGE = Path(__file__).parent / "presets.md"

HEAD = """# Mel presets

<!-- Made by docs/make_presets.py; a test holds it to the presets. -->

A vocoder only works on mels that were made exactly its way. Each preset is one public recipe; each is data for the same
code. `tts-prep presets NAME` prints a preset as a file for `--config`, in which single settings can be changed.

```sh
tts-prep presets
tts-prep presets hifigan
```

`n_fft`, `win` and `hop` are in samples, `fmin` and `fmax` in Hz. The window is a periodic Hann of `win` samples, in the
middle of `n_fft`.

"""

FRAMING = {
    "center": "centred, {pad}-padded by n_fft / 2 on both sides: 1 + ⌊samples / hop⌋ frames",
    "hifigan": "{pad}-padded by (n_fft − hop) / 2 on both sides: ⌊samples / hop⌋ frames",
    "ceil": "{pad}-padded to whole frames: ⌈samples / hop⌉ frames",
}


def presets_page() -> str:
    """Return the page."""
    rows = [
        "| preset | rate, Hz | n_fft / win / hop | mel bins | fmin–fmax | made for |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    parts = []
    for preset in DESCRIPTIONS.values():
        c = preset.config
        default = " (the default)" if preset.name == DEFAULT_PRESET else ""
        rows.append(
            f"| [`{preset.name}`](#{preset.name}){default} | {c.sample_rate:,} "
            f"| {c.n_fft} / {c.win_length} / {c.hop_length} "
            f"| {c.n_mels} | {c.fmin:g}–{c.fmax:g} | {preset.source.partition(':')[0]} |"
        )
        lines = "\n".join(f"- {line}" for line in describe(c))
        parts.append(f"## {preset.name}\n\n{preset.source}.\n\n{lines}\n")
    return HEAD + "\n".join(rows) + "\n\n" + "\n".join(parts)


def describe(config: MelConfig) -> list[str]:
    """Return what a recipe does, step by step."""
    steps = [f"{config.sample_rate:,} Hz"]
    if config.edge_zeros:
        steps.append(f"{config.edge_zeros:,} zeros at both ends")
    steps.append(FRAMING[config.framing].format(pad="zero" if config.pad_mode == "constant" else config.pad_mode))
    if config.even_frames:
        steps.append("the last frame of an odd number is left out")
    if config.peak is not None:
        steps.append(f"scaled to a peak of {config.peak:g}")
    steps.append(f"transform of {config.n_fft} samples, window {config.win_length}, hop {config.hop_length}")
    spectrum = "power" if config.power == 2 else "magnitude"
    if config.power_offset:
        spectrum = f"sqrt(power + {config.power_offset:g})"
    if config.power_floor:
        spectrum = f"sqrt(max(power, {config.power_floor:g}))"
    norm = f"{config.mel_norm} norm" if config.mel_norm else "no norm"
    built = f", built for {config.filter_bank_rate:,} Hz" if config.filter_bank_rate else ""
    steps.append(
        f"{spectrum} through {config.n_mels} mel filters, {config.mel_scale} scale, {norm}, "
        f"{config.fmin:g}–{config.fmax:g} Hz{built}"
    )
    steps.append(compression(config))
    return steps


def compression(config: MelConfig) -> str:
    """Return what happens to mel magnitudes, as a formula."""
    c = config.compression
    text = f"{c.log} max(x, {c.floor:g})" if c.floor_mode == "max" else f"{c.log}(x + {c.floor:g})"
    if c.scale != 1:
        text = f"{c.scale:.6g} · {text}"
    if c.offset:
        text += f" {'+' if c.offset > 0 else '−'} {abs(c.offset):.6g}"
    if c.minimum is not None or c.maximum is not None:
        text += f", between {c.minimum:g} and {c.maximum:g}"
    return f"`{text}`".replace("e-0", "e-")


if __name__ == "__main__":
    PAGE.write_text(presets_page(), encoding="utf-8")
