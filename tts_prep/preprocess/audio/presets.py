"""Presets: the mel settings of public vocoders and acoustic models.

All presets are data for the same code, `tts_prep.preprocess.audio.mel`. ``tests/preprocess/audio/test_presets.py``
compares each with an independent implementation, ``conformance/presets.py`` with the code of its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.compression import Compression, LogMagnitude, UnitMagnitude
from tts_prep.preprocess.audio.config import MelConfig, ReadingConfig


@dataclass(frozen=True)
class Preset:
    """A preset: named settings of a system, with their source.

    Attributes:
        name: the name of the preset.
        config: the mel settings.
        source: the system, a colon, and the place of the settings in its code.
        reading: the system's settings for reading recordings.
        text: the system's settings of text, as in the table ``text`` of a configuration file; other settings have their
            defaults.
    """

    name: str
    config: MelConfig
    source: str
    reading: ReadingConfig = field(default_factory=ReadingConfig)
    text: Mapping[str, Any] = field(default_factory=dict)


_LOG10 = Compression(log="log10", floor=1e-10)
_MEAN = ReadingConfig(channel="mean")
# wave_downsampler.py writes 16 bits by libsndfile.
_AS_SPEECHAIN = ReadingConfig(resampler="torchaudio", written="floor")
_AS_WHISPER = ReadingConfig(channel="mean", resampler="ffmpeg", written="int16")
# What 2-get-hubert-wav32k.py writes, which training reads at its own rate.
_AS_GPT_SOVITS = ReadingConfig(channel="power", resampler="ffmpeg", written="half")
_MEAN_BY_TORCHAUDIO = ReadingConfig(channel="mean", resampler="torchaudio")

_PARALLEL_WAVEGAN = MelConfig(fmin=80.0, fmax=7600.0, compression=_LOG10)
_HIFIGAN = MelConfig(framing="hifigan", power_offset=1e-9)
_HIFIGAN_TRAINING = replace(_HIFIGAN, peak=0.95)
_AT_44_KHZ = replace(
    _HIFIGAN, sample_rate=44100, n_fft=2048, win_length=2048, hop_length=512, power_offset=1e-6, fmax=22050.0
)
_COSYVOICE = replace(_HIFIGAN, peak=1.0, peak_mode="limit")
_HIFIGAN_24K = replace(_HIFIGAN, sample_rate=24000, n_fft=1920, win_length=1920, hop_length=480)
# Speech tokens have 960 samples.
_COSYVOICE2 = replace(_HIFIGAN_24K, peak=1.0, peak_mode="limit", length_multiple=960)
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
_VOCOS = MelConfig(
    sample_rate=24000, n_mels=100, fmax=12000.0, mel_scale="htk", mel_norm=None, compression=LogMagnitude(1e-7)
)
_NEMO_FASTPITCH = MelConfig(periodic_window=False, pad_mode="constant", compression=Compression(floor_mode="add"))
_NEMO_HIFIGAN = MelConfig(periodic_window=False, framing="hifigan", pad_mode="constant")
# (ln x + 12) / 14 · 2 − 1: −12 to 2 is mapped to −1 to 1.
_GPT_SOVITS = replace(
    _HIFIGAN,
    sample_rate=24000,
    n_mels=100,
    fmax=12000.0,
    power_offset=1e-8,
    compression=Compression(scale=1 / 7, offset=5 / 7),
)
_WHISPER = MelConfig(
    sample_rate=16000,
    n_fft=400,
    win_length=400,
    hop_length=160,
    drop_last_frame=True,
    power=2,
    compression=Compression(log="log10", floor=1e-10, scale=0.25, offset=1.0, dynamic_range=8.0),
)

_TORTOISE_RANGE = 2.3143386840820312 + 11.512925148010254
_TORTOISE_NORMS = (
    *(-7.0094604, -6.0832334, -4.643991, -3.3562171, -2.4547813, -2.0096862, -1.6035903, -1.8640903, -2.3727996),
    *(-2.3455493, -2.5947032, -2.6695044, -2.712865, -2.8554766, -3.0250936, -3.088925, -3.4261477, -3.6758707),
    *(-4.0779943, -4.462376, -4.7811594, -5.0074525, -5.128354, -5.2716646, -5.40056, -5.499322, -5.5310407),
    *(-5.5878043, -5.672626, -5.7015767, -5.794292, -5.883075, -5.953696, -5.998858, -6.0305257, -6.053944),
    *(-6.0747695, -6.116334, -6.148137, -6.247625, -6.31952, -6.4457083, -6.537699, -6.6109824, -6.648107),
    *(-6.6671314, -6.6539483, -6.6499467, -6.6793838, -6.783321, -6.9306965, -7.081806, -7.189355, -7.2439027),
    *(-7.316775, -7.3778706, -7.4491, -7.52332, -7.6223617, -7.7473035, -7.8994164, -8.060431, -8.218083),
    *(-8.399795, -8.555578, -8.716107, -8.848075, -8.95816, -9.037121, -9.086742, -9.1545925, -9.203839, -9.233387),
    *(-9.229236, -9.230441, -9.26798, -9.315551, -9.371553, -9.416545, -9.482238),
)
"""The values of tortoise/data/mel_norms.pth of neonbjb/tortoise-tts, float32, under the Apache License 2.0."""

_KALDI = MelConfig(
    sample_rate=16000,
    n_fft=512,
    win_length=400,
    hop_length=160,
    framing="snip",
    window="povey",
    periodic_window=False,
    preemphasis=0.97,
    frame_preemphasis=True,
    remove_dc=True,
    power=2,
    fmin=20.0,
    mel_scale="kaldi",
    mel_norm=None,
    compression=Compression(floor=2.0**-23, subtract_mean=True),
)


def _matcha(mean: float, std: float) -> MelConfig:
    return replace(_HIFIGAN, compression=Compression(scale=1 / std, offset=-mean / std))


_ALL = (
    Preset(
        "parakeet",
        MelConfig(peak=0.999),
        "Parakeet: AudioProcessor of parakeet/audio/audio.py and LogMagnitude, as in its Transformer TTS",
        _MEAN,
    ),
    Preset(
        "parakeet-wavenet",
        MelConfig(n_fft=2048, framing="ceil", peak=0.999, fmax=11025.0, compression=UnitMagnitude()),
        "Parakeet: Transform of examples/wavenet/data.py (until 2021) with wavenet_single_gaussian.yaml",
        _MEAN,
    ),
    Preset(
        "parakeet-waveflow",
        MelConfig(framing="ceil", peak=0.999),
        "Parakeet: Transform of examples/waveflow/preprocess.py with config.py",
        _MEAN,
    ),
    Preset(
        "parakeet-fastspeech2",
        _PARALLEL_WAVEGAN,
        "Parakeet: LogMelFBank with examples/fastspeech2/ljspeech/conf/default.yaml; the same as ParallelWaveGAN: "
        "logmelfilterbank with egs/ljspeech/voc1/conf/parallel_wavegan.v1.yaml",
        _MEAN,
    ),
    Preset(
        "parakeet-fastspeech2-24k",
        replace(_PARALLEL_WAVEGAN, sample_rate=24000, n_fft=2048, win_length=1200, hop_length=300),
        "Parakeet: LogMelFBank with examples/fastspeech2/baker/conf/default.yaml; the same as ParallelWaveGAN's "
        "egs/csmsc/voc1",
        _MEAN,
    ),
    Preset(
        "styletts2",
        _STYLETTS2,
        "StyleTTS2: meldataset.py, whose filter bank is built for 16,000 Hz by the default of the transform it uses",
        # The published lists are espeak-ng's own reading.
        text={"punctuation": "separate", "heteronyms": False},
    ),
    Preset(
        "styletts2-true-24k",
        replace(_STYLETTS2, filter_bank_rate=None, fmax=12000.0),
        "StyleTTS2 with the filter bank of the audio's own sample rate: no published model uses it",
    ),
    Preset(
        "speechain-tts",
        MelConfig(),
        "SpeeChain: Speech2MelSpec with recipes/tts/ljspeech/exp_cfg/22.05khz_mfa_fastspeech2.yaml",
        _AS_SPEECHAIN,
    ),
    Preset(
        "speechain-conventional-tts",
        MelConfig(n_fft=1102, win_length=1102, hop_length=275, power=2, fmin=125.0, fmax=7600.0, compression=_LOG10),
        "SpeeChain: Speech2MelSpec with config/feat/log_mel/conventional_tts.yaml, which none of its TTS recipes uses",
        _AS_SPEECHAIN,
    ),
    Preset(
        "fastspeech2",
        MelConfig(),
        "ming024's FastSpeech 2: get_mel_from_wav of audio/tools.py, after prepare_align, with config/LJSpeech",
        ReadingConfig(channel="mean", written="full"),
    ),
    Preset("tacotron2", MelConfig(), "NVIDIA Tacotron 2 and WaveGlow: TacotronSTFT of layers.py with hparams.py"),
    Preset(
        "fastpitch",
        MelConfig(),
        "NVIDIA FastPitch: TacotronSTFT of DeepLearningExamples/PyTorch/SpeechSynthesis/FastPitch/common/layers.py",
    ),
    Preset(
        "hifigan",
        _HIFIGAN_TRAINING,
        "HiFi-GAN: meldataset.py with config_v1.json, as it is trained (UNIVERSAL_V1, LJ_V1)",
    ),
    Preset(
        "hifigan-unscaled",
        _HIFIGAN,
        "HiFi-GAN: meldataset.py with config_v1.json, at inference and for fine-tuning, which keep the level",
    ),
    Preset(
        "istftnet", _HIFIGAN_TRAINING, "iSTFTNet: meldataset.py of rishikksh20/iSTFTNet-pytorch with config_v1.json"
    ),
    Preset(
        "bigvgan-22k-80",
        replace(_HIFIGAN_TRAINING, fmax=11025.0),
        "BigVGAN: meldataset.py with bigvgan_v2_22khz_80band_256x",
        _MEAN,
    ),
    Preset(
        "bigvgan-22k-80-fmax8k",
        _HIFIGAN_TRAINING,
        "BigVGAN: meldataset.py with bigvgan_base_22khz_80band, bigvgan_22khz_80band and "
        "bigvgan_v2_22khz_80band_fmax8k_256x",
        _MEAN,
    ),
    Preset(
        "bigvgan-24k-100",
        replace(_HIFIGAN_TRAINING, sample_rate=24000, n_mels=100, fmax=12000.0),
        "BigVGAN: meldataset.py with bigvgan_base_24khz_100band, bigvgan_24khz_100band and "
        "bigvgan_v2_24khz_100band_256x",
        _MEAN,
    ),
    Preset(
        "bigvgan-44k-128",
        replace(
            _HIFIGAN_TRAINING, sample_rate=44100, n_fft=2048, win_length=2048, hop_length=512, n_mels=128, fmax=22050.0
        ),
        "BigVGAN: meldataset.py with bigvgan_v2_44khz_128band_512x",
        _MEAN,
    ),
    Preset(
        "bigvgan-44k-128-256x",
        replace(_HIFIGAN_TRAINING, sample_rate=44100, n_mels=128, fmax=22050.0),
        "BigVGAN: meldataset.py with bigvgan_v2_44khz_128band_256x",
        _MEAN,
    ),
    Preset(
        "vocos", _VOCOS, "Vocos: MelSpectrogramFeatures of feature_extractors.py, vocos-mel-24khz", _MEAN_BY_TORCHAUDIO
    ),
    Preset(
        "f5-tts",
        replace(_VOCOS, compression=LogMagnitude(1e-5)),
        "F5-TTS: get_vocos_mel_spectrogram of src/f5_tts/model/modules.py, F5TTS_Base and F5TTS_v1_Base",
        _MEAN_BY_TORCHAUDIO,
    ),
    Preset(
        "cosyvoice",
        _COSYVOICE,
        "CosyVoice: mel_spectrogram of matcha/utils/audio.py with examples/libritts/cosyvoice/conf/cosyvoice.yaml",
        _MEAN_BY_TORCHAUDIO,
    ),
    Preset(
        "cosyvoice2",
        _COSYVOICE2,
        "CosyVoice 2: mel_spectrogram of matcha/utils/audio.py with examples/libritts/cosyvoice2/conf/cosyvoice2.yaml",
        _MEAN_BY_TORCHAUDIO,
    ),
    Preset(
        "cosyvoice3",
        replace(_COSYVOICE2, fmax=12000.0),
        "CosyVoice 3: mel_spectrogram of matcha/utils/audio.py with examples/libritts/cosyvoice3/conf/cosyvoice3.yaml",
        _MEAN_BY_TORCHAUDIO,
    ),
    Preset(
        "univnet",
        replace(_HIFIGAN, sample_rate=24000, n_mels=100, fmax=12000.0, least_length=18384),
        "UnivNet: TacotronSTFT of maum-ai/univnet, utils/stft.py with config/default_c32.yaml and default_c16.yaml",
    ),
    Preset(
        "matcha",
        _matcha(-5.536622, 2.116101),
        "Matcha-TTS on LJ Speech: mel_spectrogram with configs/data/ljspeech.yaml",
    ),
    Preset(
        "matcha-vctk", _matcha(-6.630575, 2.482914), "Matcha-TTS on VCTK: mel_spectrogram with configs/data/vctk.yaml"
    ),
    Preset(
        "matcha-hi-fi-captain",
        _matcha(-6.38385, 2.541796),
        "Matcha-TTS on Hi-Fi-CAPTAIN: mel_spectrogram with configs/data/hi-fi_en-US_female.yaml",
    ),
    Preset(
        "vits",
        replace(_HIFIGAN, power_offset=1e-6, fmax=11025.0),
        "VITS: mel_spectrogram_torch of mel_processing.py with configs/ljs_base.json and vctk_base.json",
    ),
    Preset(
        "piper",
        replace(_HIFIGAN, power_offset=1e-6, fmax=11025.0),
        "Piper: mel_spectrogram_torch of src/piper/train/vits/mel_processing.py with its defaults, quality medium",
        _MEAN,
    ),
    Preset(
        "espnet2-tts",
        replace(_PARALLEL_WAVEGAN, power_floor=1e-10),
        "ESPnet2 TTS: LogMelFbank with the defaults of egs2/ljspeech/tts1",
    ),
    Preset(
        "coqui",
        MelConfig(
            fmax=11025.0,
            compression=Compression(log="log10", floor=1e-8, scale=1.6, offset=2.4, minimum=-4.0, maximum=4.0),
        ),
        "Coqui TTS: AudioProcessor with the defaults of BaseAudioConfig, symmetric normalisation to ±4",
        _MEAN,
    ),
    Preset(
        "coqui-ljspeech",
        MelConfig(compression=LogMagnitude(1e-8)),
        "Coqui TTS on LJ Speech: AudioProcessor with recipes/ljspeech (Tacotron 2, FastPitch, FastSpeech, OverFlow, "
        "Neural HMM, SpeedySpeech)",
        _MEAN,
    ),
    Preset(
        "wavenet-vocoder",
        replace(_PARALLEL_WAVEGAN, fmin=125.0),
        "r9y9's WaveNet: logmelspectrogram of r9y9/wavenet_vocoder, audio.py with egs/mol/conf/mol_wavenet.json",
        ReadingConfig(clips=True),
    ),
    Preset(
        "speecht5",
        replace(_PARALLEL_WAVEGAN, sample_rate=16000),
        "SpeechT5: logmelfilterbank of text_to_speech_dataset.py, speecht5_tts; transformers' SpeechT5FeatureExtractor",
        _MEAN,
    ),
    Preset(
        "nemo-fastpitch",
        _NEMO_FASTPITCH,
        "NeMo FastPitch: FilterbankFeatures with examples/tts/conf/fastpitch_align_v1.05.yaml, tts_en_fastpitch",
    ),
    Preset(
        "nemo-fastpitch-44k",
        replace(_NEMO_FASTPITCH, sample_rate=44100, n_fft=2048, win_length=2048, hop_length=512, fmax=22050.0),
        "NeMo FastPitch at 44.1 kHz: FilterbankFeatures with examples/tts/conf/fastpitch_align_44100.yaml",
    ),
    Preset(
        "nemo-hifigan",
        _NEMO_HIFIGAN,
        "NeMo HiFi-GAN: FilterbankFeatures with examples/tts/conf/hifigan/hifigan.yaml, tts_en_hifigan; as its UnivNet "
        "and Tacotron 2",
    ),
    Preset(
        "nemo-hifigan-44k",
        replace(_NEMO_HIFIGAN, sample_rate=44100, n_fft=2048, win_length=2048, hop_length=512, fmax=22050.0),
        "NeMo HiFi-GAN at 44.1 kHz: FilterbankFeatures with examples/tts/conf/hifigan/hifigan_44100.yaml",
    ),
    Preset(
        "melgan",
        MelConfig(framing="hifigan", peak=0.95, fmax=11025.0, compression=Compression(log="log10", floor=1e-5)),
        "MelGAN: Audio2Mel of descriptinc/melgan-neurips, mel2wav/modules.py, at the level of its validation",
        _MEAN,
    ),
    Preset(
        "gpt-sovits-v3",
        _GPT_SOVITS,
        "GPT-SoVITS v3: spec_to_mel_torch and norm_spec of GPT_SoVITS/module, TextAudioSpeakerLoaderV3",
        replace(_AS_GPT_SOVITS, through=32000),
    ),
    Preset(
        "gpt-sovits-v4",
        replace(_GPT_SOVITS, sample_rate=32000, n_fft=1280, win_length=1280, hop_length=320, fmax=16000.0),
        "GPT-SoVITS v4: spec_to_mel_torch and norm_spec of GPT_SoVITS/module, TextAudioSpeakerLoaderV4",
        _AS_GPT_SOVITS,
    ),
    Preset(
        "fish-speech",
        replace(_AT_44_KHZ, n_mels=160, peak=1.0, peak_mode="limit"),
        "Fish Speech 1.2 to 1.5: LogMelSpectrogram of fish_speech/utils/spectrogram.py with firefly_gan_vq.yaml",
        _MEAN,
    ),
    Preset(
        "speechbrain-tacotron2",
        MelConfig(),
        "SpeechBrain Tacotron 2: mel_spectogram of lobes/models/Tacotron2.py with recipes/LJSpeech/TTS/tacotron2",
    ),
    Preset(
        "speechbrain-hifigan",
        MelConfig(),
        "SpeechBrain HiFi-GAN: mel_spectogram of lobes/models/HifiGAN.py with recipes/LJSpeech/TTS/vocoder/hifigan",
    ),
    Preset(
        "chatterbox",
        _HIFIGAN_24K,
        "Chatterbox: mel_spectrogram of src/chatterbox/models/s3gen/utils/mel.py",
        _MEAN,
    ),
    Preset(
        "index-tts",
        _VOCOS,
        "IndexTTS 1 and 1.5: MelSpectrogramFeatures of indextts/utils/feature_extractors.py, of the reference",
        _MEAN_BY_TORCHAUDIO,
    ),
    Preset(
        "zipvoice",
        replace(_VOCOS, round_frames=True, compression=Compression(floor=1e-7, scale=0.1)),
        "ZipVoice: VocosFbank of zipvoice/utils/feature.py, times the feat_scale of bin/train_zipvoice.py",
        _MEAN_BY_TORCHAUDIO,
    ),
    Preset(
        "index-tts-2",
        replace(_HIFIGAN, fmax=11025.0),
        "IndexTTS 2: mel_spectrogram of indextts/s2mel/modules/audio.py as in infer_v2.py, of the reference",
        _MEAN,
    ),
    Preset(
        "melotts",
        replace(_AT_44_KHZ, n_mels=128),
        "MeloTTS: mel_spectrogram_torch of melo/mel_processing.py with melo/configs/config.json",
        _MEAN,
    ),
    Preset(
        "vevo",
        replace(
            _HIFIGAN_24K,
            n_mels=128,
            fmax=12000.0,
            compression=Compression(scale=8.14**-0.5, offset=4.92 * 8.14**-0.5),
        ),
        "Amphion's Vevo: extract_mel_feature of models/vc/vevo/vevo_utils.py with config/Vq8192ToMels.json",
        _MEAN,
    ),
    Preset(
        "tortoise",
        MelConfig(power=2, mel_scale="htk", compression=Compression(bin_norms=_TORTOISE_NORMS)),
        "Tortoise: TorchMelSpectrogram of tortoise/models/arch_util.py with data/mel_norms.pth, of its autoregressive "
        "model; XTTS has the same with the mel_stats of its checkpoint as bin_norms",
        ReadingConfig(resampler="torchaudio", clips=True),
    ),
    Preset(
        "tortoise-diffusion",
        MelConfig(
            sample_rate=24000,
            n_mels=100,
            fmax=12000.0,
            compression=Compression(scale=2 / _TORTOISE_RANGE, offset=2 * 11.512925148010254 / _TORTOISE_RANGE - 1),
        ),
        "Tortoise's diffusion: wav_to_univnet_mel of tortoise/utils/audio.py, normalized",
        ReadingConfig(resampler="torchaudio", clips=True, through=22050),
    ),
    Preset(
        "zonos-speaker",
        MelConfig(
            sample_rate=16000,
            n_fft=512,
            win_length=400,
            hop_length=160,
            power=2,
            mel_scale="htk",
            mel_norm=None,
            compression=Compression(floor=1e-6, floor_mode="add", subtract_mean=True),
        ),
        "Zonos' speaker encoder: logFbankCal of zonos/speaker_cloning.py",
        _MEAN_BY_TORCHAUDIO,
    ),
    Preset(
        "campplus",
        _KALDI,
        "CAM++, the speaker encoder of CosyVoice, Chatterbox and 3D-Speaker: torchaudio.compliance.kaldi.fbank as in "
        "cosyvoice/cli/frontend.py",
        _MEAN_BY_TORCHAUDIO,
    ),
    Preset(
        "whisper-80",
        _WHISPER,
        "Whisper: log_mel_spectrogram of whisper/audio.py, 80 bins: tiny to large-v2",
        _AS_WHISPER,
    ),
    Preset(
        "whisper-128",
        replace(_WHISPER, n_mels=128),
        "Whisper: log_mel_spectrogram of whisper/audio.py, 128 bins: large-v3 and turbo",
        _AS_WHISPER,
    ),
)

PRESETS: Final[Mapping[str, MelConfig]] = MappingProxyType({preset.name: preset.config for preset in _ALL})
DESCRIPTIONS: Final[Mapping[str, Preset]] = MappingProxyType({preset.name: preset for preset in _ALL})
DEFAULT_PRESET: Final = "parakeet"


def get_preset(name: str) -> Preset:
    """Return a preset by name.

    Raises:
        ConfigurationError: there is no preset of that name.
    """
    if name not in DESCRIPTIONS:
        near = _nearest(name)
        hint = f"did you mean {near!r}?" if near else "'tts-prep presets' lists them"
        raise ConfigurationError(f"preset: unknown preset {name!r}; {hint}")
    return DESCRIPTIONS[name]


def _nearest(name: str) -> str | None:
    """Return the name of the most similar preset, ignoring case and punctuation."""
    import difflib

    letters = {"".join(filter(str.isalnum, known)): known for known in DESCRIPTIONS}
    query = "".join(filter(str.isalnum, name.casefold()))
    near = difflib.get_close_matches(query, letters, 1) or [
        known for known in letters if len(query) > 2 and known.startswith(query)
    ]
    return letters[near[0]] if near else None
