"""Named recipes: what public vocoders and acoustic models were trained on.

Every row is data for the one code path of `tts_prep.preprocess.audio.mel`; ``tests/test_presets.py`` holds each of
them to an implementation of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.compression import Compression, LogMagnitude, UnitMagnitude
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.reading import ReadingConfig


@dataclass(frozen=True)
class Preset:
    """A recipe with its name and where it comes from.

    Attributes:
        name: of the preset.
        config: the recipe of its mels.
        source: the system, a colon, and where in it the recipe is.
        reading: how the system reads recordings.
        text: settings of the system's text, as in the table ``text`` of a configuration file; the others keep their
            defaults.
    """

    name: str
    config: MelConfig
    source: str
    reading: ReadingConfig = field(default_factory=ReadingConfig)
    text: Mapping[str, Any] = field(default_factory=dict)


_LOG10 = Compression(log="log10", floor=1e-10)

_PARALLEL_WAVEGAN = MelConfig(fmin=80.0, fmax=7600.0, compression=_LOG10)
_HIFIGAN = MelConfig(framing="hifigan", peak=0.95, power_offset=1e-9)
_STYLETTS2 = MelConfig(
    sample_rate=24000,
    n_fft=2048,
    win_length=1200,
    hop_length=300,
    edge_zeros=5000,
    even_frames=True,
    power=2,
    mel_scale="htk",
    mel_norm=None,
    filter_bank_rate=16000,
    compression=Compression(floor_mode="add", scale=0.25, offset=1.0),
)

_ALL = (
    Preset("parakeet", MelConfig(peak=0.999), "Parakeet: AudioProcessor and LogMagnitude, as in its Transformer TTS"),
    Preset(
        "parakeet-wavenet",
        MelConfig(n_fft=2048, framing="ceil", peak=0.999, fmax=11025.0, compression=UnitMagnitude()),
        "Parakeet: the WaveNet example's Transform",
    ),
    Preset("parakeet-waveflow", MelConfig(framing="ceil", peak=0.999), "Parakeet: the WaveFlow example's Transform"),
    Preset(
        "parakeet-fastspeech2",
        _PARALLEL_WAVEGAN,
        "Parakeet: FastSpeech 2 on LJ Speech; the same as ParallelWaveGAN's ljspeech recipe",
    ),
    Preset(
        "parakeet-fastspeech2-24k",
        replace(_PARALLEL_WAVEGAN, sample_rate=24000, n_fft=2048, win_length=1200, hop_length=300),
        "Parakeet: FastSpeech 2 at 24 kHz",
    ),
    Preset(
        "styletts2",
        _STYLETTS2,
        "StyleTTS2: meldataset.py, whose filter bank is built for 16,000 Hz by the default of the transform it uses",
    ),
    Preset(
        "styletts2-true-24k",
        replace(_STYLETTS2, filter_bank_rate=None, fmax=12000.0),
        "StyleTTS2 with the filter bank of the audio's own sample rate",
    ),
    Preset(
        "speechain-tts",
        MelConfig(
            n_fft=1102,
            win_length=1102,
            hop_length=275,
            pad_mode="constant",
            power=2,
            fmin=125.0,
            fmax=7600.0,
            compression=_LOG10,
        ),
        "SpeeChain: Speech2MelSpec in its TTS recipes, librosa's framing",
    ),
    Preset("tacotron2", MelConfig(), "NVIDIA Tacotron 2 and WaveGlow: TacotronSTFT"),
    Preset("hifigan", _HIFIGAN, "HiFi-GAN: meldataset.py with config_v1.json"),
    Preset("bigvgan-22k-80", _HIFIGAN, "BigVGAN: bigvgan_base_22khz_80band and bigvgan_v2_22khz_80band_256x"),
    Preset(
        "bigvgan-24k-100",
        replace(_HIFIGAN, sample_rate=24000, n_mels=100, fmax=12000.0),
        "BigVGAN: bigvgan_24khz_100band and bigvgan_v2_24khz_100band_256x",
    ),
    Preset(
        "bigvgan-44k-128",
        replace(_HIFIGAN, sample_rate=44100, n_fft=2048, win_length=2048, hop_length=512, n_mels=128, fmax=22050.0),
        "BigVGAN: bigvgan_v2_44khz_128band_512x",
    ),
    Preset(
        "vocos",
        MelConfig(
            sample_rate=24000, n_mels=100, fmax=12000.0, mel_scale="htk", mel_norm=None, compression=LogMagnitude(1e-7)
        ),
        "Vocos: MelSpectrogramFeatures of vocos-mel-24khz",
    ),
    Preset(
        "espnet2-tts",
        replace(_PARALLEL_WAVEGAN, power_floor=1e-10),
        "ESPnet2 TTS: LogMelFbank with the defaults of its ljspeech recipe",
    ),
    Preset(
        "coqui",
        MelConfig(
            fmax=11025.0,
            compression=Compression(log="log10", floor=1e-8, scale=1.6, offset=2.4, minimum=-4.0, maximum=4.0),
        ),
        "Coqui TTS: AudioProcessor with symmetric normalisation to ±4",
    ),
    Preset(
        "matcha",
        replace(_HIFIGAN, peak=None, compression=Compression(scale=1 / 2.116101, offset=5.536622 / 2.116101)),
        "Matcha-TTS on LJ Speech, with that corpus's mean and standard deviation",
    ),
)

PRESETS: Final[Mapping[str, MelConfig]] = MappingProxyType({preset.name: preset.config for preset in _ALL})
DESCRIPTIONS: Final[Mapping[str, Preset]] = MappingProxyType({preset.name: preset for preset in _ALL})
DEFAULT_PRESET: Final = "parakeet"


def get_preset(name: str) -> Preset:
    """Return a preset by its name.

    Raises:
        ConfigurationError: there is none of that name.
    """
    if name not in DESCRIPTIONS:
        near = _nearest(name)
        hint = f"did you mean {near!r}?" if near else "'tts-prep presets' lists them"
        raise ConfigurationError(f"preset: there is none named {name!r}; {hint}")
    return DESCRIPTIONS[name]


def _nearest(name: str) -> str | None:
    """Return the preset whose name is most like another one, without regard to case and punctuation."""
    import difflib

    letters = {"".join(filter(str.isalnum, known)): known for known in DESCRIPTIONS}
    wanted = "".join(filter(str.isalnum, name.casefold()))
    near = difflib.get_close_matches(wanted, letters, 1) or [
        known for known in letters if len(wanted) > 2 and known.startswith(wanted)
    ]
    return letters[near[0]] if near else None
