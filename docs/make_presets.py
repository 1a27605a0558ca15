"""Write docs/presets.md from the presets themselves: ``python docs/make_presets.py``."""

from __future__ import annotations

import json
from pathlib import Path

from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.presets import DEFAULT_PRESET, DESCRIPTIONS, Preset

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
middle of `n_fft`, unless a preset says that it is symmetric.

A mel also depends on what happens to the recording before it. Each preset says below what its source does there, in
training and at inference. tts-prep resamples with soxr at high quality; a source with another resampler gets other
values, most of all near half of the lower sample rate.

"""

COMPARED = Path(__file__).parent / "presets-compared.json"

# What sources do before the mel: a line of its own for training and inference where they differ.
_HIFIGAN = (
    "Training: 16-bit WAV of one channel at the rate of the configuration; the whole recording to a peak of 0.95, then "
    "segments of 8,192 samples are cut, and each has its own mel.",
    "Inference and fine-tuning: the level is kept; see `hifigan-unscaled`.",
)
_BIGVGAN = (
    "Training: librosa.load averages the channels. A segment is cut, resampled (librosa's soxr_hq) and scaled to a "
    "peak of 0.95. So the level depends on the segment; here, on the recording.",
    "Validation: cut to whole hops, peak of 0.95. Inference: librosa.load at the model's rate, the level is kept; "
    '`--config` with `peak = "none"` gives that.',
)
_COSYVOICE = "channels averaged; resampled by torchaudio; scaled down only where the peak is over 1"
_COQUI = (
    "Training and inference: 10 ms are cut off both ends, then silence below -{db} dB (`--trim-db {db} "
    "--trim-margin 0`). soundfile reads one channel; with `resample`, librosa.load averages the channels and "
    "resamples.",
)
_MATCHA = ("Training: torchaudio.load, one channel at 22,050 Hz; the level is kept. Inference makes no mel of audio.",)
_NEMO = (
    "Training: soundfile, one channel (or `channel_selector`), librosa's resampler, no trimming (`trim: false`), the "
    "level is kept. Code of today masks the last frame; that of the checkpoints (1.0 to 1.10) did not, nor does this "
    "preset.",
)
_PARAKEET = "librosa.load averages the channels and resamples"
_SPEECHAIN = (
    "Training: one channel; its scripts resample by torchaudio; the level is kept; no trimming. The model standardizes "
    "the mels (`feat_normalize`).",
)
_WHISPER = (
    "Training and inference: ffmpeg mixes the channels down and resamples. Zeros are appended up to 30 seconds before "
    "the mel: the maximum stays the same, but the frames at the end of the recording get other values.",
)
BEFORE = {
    "parakeet": (f"Training: {_PARAKEET}; the recording to a peak of 0.999.",),
    "parakeet-wavenet": (
        "Training: librosa.load averages the channels; a recording at another rate is refused; padded to whole hops, "
        "then a peak of 0.999.",
    ),
    "parakeet-waveflow": ("As `parakeet-wavenet`.",),
    "parakeet-fastspeech2": (
        f"Training: {_PARAKEET}; the level is kept; silence at the ends that the aligner found is cut (`--cut-sil`).",
        "ParallelWaveGAN's recipe refuses several channels and trims silence below -60 dB (`--trim-db 60 "
        "--trim-margin 0`).",
    ),
    "parakeet-fastspeech2-24k": (
        f"Training: {_PARAKEET}; the level is kept; silence at the ends that the aligner found is cut (`--cut-sil`).",
    ),
    "styletts2": (
        "Training: first of two channels, librosa's resampler, 5,000 zeros at both ends, the level is kept.",
        "Inference: librosa.load averages the channels of the reference, trims below -30 dB, and adds no zeros.",
    ),
    "styletts2-true-24k": ("As `styletts2`.",),
    "speechain-tts": _SPEECHAIN,
    "speechain-conventional-tts": _SPEECHAIN,
    "tacotron2": (
        "Training: 16-bit WAV of one channel at 22,050 Hz, divided by 32,768; the level is kept; no trimming.",
    ),
    "fastpitch": ("As `tacotron2`.",),
    "hifigan": _HIFIGAN,
    "hifigan-unscaled": _HIFIGAN,
    "istftnet": _HIFIGAN,
    "bigvgan-22k-80": _BIGVGAN,
    "bigvgan-22k-80-fmax8k": _BIGVGAN,
    "bigvgan-24k-100": _BIGVGAN,
    "bigvgan-44k-128": _BIGVGAN,
    "bigvgan-44k-128-256x": _BIGVGAN,
    "vocos": (
        "Training: channels averaged; the recording to a random peak of -1 to -6 dB (validation: -3 dB), then "
        "resampled by torchaudio; a short one is repeated. Here the level is kept.",
        "Inference: the level is kept.",
    ),
    "f5-tts": (
        "Training: channels averaged, resampled by torchaudio, the level is kept.",
        "Inference: the channels of the reference are averaged; a root mean square below 0.1 is raised to 0.1.",
    ),
    "cosyvoice": (f"Training: {_COSYVOICE}.",),
    "cosyvoice2": (f"Training: {_COSYVOICE}; zeros up to a multiple of 960 samples are appended before the mel.",),
    "cosyvoice3": (f"Training: {_COSYVOICE}; zeros up to a multiple of 960 samples are appended before the mel.",),
    "univnet": (
        "Training: scipy, first channel; a recording at another rate is refused; fewer than 18,384 samples are padded "
        "with zeros; the level is kept.",
    ),
    "matcha": _MATCHA,
    "matcha-vctk": _MATCHA,
    "matcha-hi-fi-captain": _MATCHA,
    "vits": (
        "Training: 16-bit WAV of one channel at 22,050 Hz, divided by 32,768; the level is kept. The encoder reads the "
        "linear spectrogram; this mel is that of the loss.",
    ),
    "espnet2-tts": ("Training: the recipe's scripts resample (`--fs`); the level is kept.",),
    "coqui": tuple(line.format(db=45) for line in _COQUI),
    "coqui-ljspeech": tuple(line.format(db=60) for line in _COQUI),
    "wavenet-vocoder": (
        "Training: one channel; silence below -60 dB is trimmed (`--trim-db 60 --trim-margin 0`); frequencies "
        "below 70 Hz are filtered out by an FIR filter (`--highpass 70` is a Butterworth filter).",
    ),
    "speecht5": ("Training: one channel (fairseq averages several), 16,000 Hz; the level is kept.",),
    "nemo-fastpitch": _NEMO,
    "nemo-fastpitch-44k": _NEMO,
    "nemo-hifigan": _NEMO,
    "nemo-hifigan-44k": _NEMO,
    "whisper-80": _WHISPER,
    "whisper-128": _WHISPER,
}
"""Preset → what its source does to a recording before the mel."""

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
        lines = "\n".join(f"- {line}" for line in (*describe_reading(preset), *describe(c)))
        before = "\n".join(f"- {line}" for line in BEFORE[preset.name])
        parts.append(f"## {preset.name}\n\n{preset.source}.\n\n{lines}\n\nBefore the mel, its source:\n\n{before}\n")
    return HEAD + "\n".join(rows) + "\n\n" + compared() + "\n" + "\n".join(parts)


def compared() -> str:
    """Return the table of differences to the sources' own code."""
    found = json.loads(COMPARED.read_text(encoding="utf-8"))
    rows = [
        "## Compared with the sources",
        "",
        f"{found['clips']} recordings of LJ Speech, LibriTTS and AISHELL-3, {found['seconds']:g} seconds, by each",
        "preset and by the code of its source, run in float64 on the same samples: the largest difference, and the one",
        "that 99.9 % of the values stay below. A store holds float32: rounding alone makes up to 4.8e-7 for values",
        "between 8 and 16. `benchmarks/presets.py` makes the table.",
        "",
        "| preset | its source | largest | 99.9 % |",
        "| --- | --- | --- | --- |",
    ]
    rows += [f"| `{r['preset']}` | {r['source']} | {r['largest']:.1e} | {r['p999']:.1e} |" for r in found["rows"]]
    missing = sorted(set(DESCRIPTIONS) - {r["preset"] for r in found["rows"]})
    rows += ["", f"No published code makes {', '.join(f'`{name}`' for name in missing)}.", ""]
    return "\n".join(rows)


def describe_reading(preset: Preset) -> list[str]:
    """Return how a preset has recordings read, where it is not as other presets have it."""
    return ["the mean of the channels"] if preset.reading.channel == "mean" else []


def describe(config: MelConfig) -> list[str]:
    """Return what a recipe does, step by step."""
    steps = [f"{config.sample_rate:,} Hz"]
    if config.edge_zeros:
        steps.append(f"{config.edge_zeros:,} zeros at both ends")
    steps.append(FRAMING[config.framing].format(pad="zero" if config.pad_mode == "constant" else config.pad_mode))
    if config.drop_last_frame:
        steps.append("without the last frame")
    if config.even_frames:
        steps.append("the last frame of an odd number is left out")
    if config.peak is not None:
        steps.append(f"scaled to a peak of {config.peak:g}")
    window = "window" if config.periodic_window else "symmetric window"
    steps.append(f"transform of {config.n_fft} samples, {window} {config.win_length}, hop {config.hop_length}")
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
    if c.dynamic_range is not None:
        text = f"max(L, max L − {c.dynamic_range:g}), L = {text}"
    if c.scale != 1:
        text = f"{c.scale:.6g} · {text}"
    if c.offset:
        text += f" {'+' if c.offset > 0 else '−'} {abs(c.offset):.6g}"
    if c.minimum is not None or c.maximum is not None:
        text += f", between {c.minimum:g} and {c.maximum:g}"
    return f"`{text}`".replace("e-0", "e-")


if __name__ == "__main__":
    PAGE.write_text(presets_page(), encoding="utf-8")
