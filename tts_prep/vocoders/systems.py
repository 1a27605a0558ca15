"""The systems whose configuration files are read: how a file is recognized, and what its system computes from it.

A file is recognized by what only its system has. The mel of each system is in the comment with the place of its code;
reading of recordings, and what else a file does not say, is that of the system's preset.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.config import Compression, LogMagnitude, MelConfig, ReadingConfig
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.vocoders.files import ConfigTable, read_table, short


@dataclass(frozen=True)
class System:
    """A system whose configuration files are recognized.

    Attributes:
        name: its name.
        is_of: whether a file is one of its.
        mel: the mel of a file; it raises `ConfigurationError` for what it does not know.
        reading: how it reads recordings.
        presets: the presets with its published settings.
    """

    name: str
    is_of: Callable[[ConfigTable], bool]
    mel: Callable[[ConfigTable], MelConfig]
    reading: ReadingConfig
    presets: tuple[str, ...] = ()


@dataclass(frozen=True)
class VocoderSettings:
    """The settings of a configuration file.

    Attributes:
        system: the system whose file it is.
        mel, reading: the settings of mels and of reading recordings.
        preset: the name of the preset with the same settings, or None.
    """

    system: str
    mel: MelConfig
    reading: ReadingConfig
    preset: str | None


def read_vocoder_config(path: Path) -> VocoderSettings:
    """Return the settings of a vocoder or an acoustic model, from the configuration file of its checkpoint.

    An fmax of null is half of the sample rate.

    Raises:
        ConfigurationError: no system is known that has such files; or the file contradicts itself, or has settings that
            cannot be had here: the message names its system.
        MissingPackageError: it is YAML, and PyYAML is not installed.
    """
    try:
        table = read_table(path)
        system = next((system for system in SYSTEMS if system.is_of(table)), None)
    except RecursionError:
        raise ConfigurationError(f"{path}: nested too deeply, or part of itself") from None
    if system is None:
        raise ConfigurationError(
            f"{path}: not recognized as the configuration file of a vocoder or model; choose a preset by --preset, of "
            "those that 'tts-prep presets' lists, or give the settings by --config"
        )
    try:
        mel = system.mel(table)
    except ConfigurationError as error:
        presets = ", ".join(system.presets) or "none"
        raise ConfigurationError(f"{path}: a file of {system.name}: {error} (its presets: {presets})") from None
    same = (
        name for name in system.presets if get_preset(name).config == mel and get_preset(name).reading == system.reading
    )
    return VocoderSettings(system.name, mel, system.reading, next(same, None))


def _hifigan(top: ConfigTable) -> MelConfig:
    # meldataset.py of jik876/hifi-gan and NVIDIA/BigVGAN: recordings are scaled to a peak of 0.95.
    return top.config(get_preset("hifigan").config)


def _vits(top: ConfigTable) -> MelConfig:
    # mel_processing.py of jaywalnut310/vits and myshell-ai/MeloTTS.
    return top.table("data").config(get_preset("vits").config)


def _gpt_sovits(top: ConfigTable) -> MelConfig:
    # module/mel_processing.py of RVC-Boss/GPT-SoVITS adds 1e-8 to the power.
    preset = get_preset("gpt-sovits-v4").config
    return top.table("data").config(replace(preset, compression=get_preset("vits").config.compression))


def _amphion(top: ConfigTable) -> MelConfig:
    # extract_mel_features of utils/mel.py; normalized in extract_mel_feature of models/vc/vevo/vevo_utils.py.
    table = top.table("preprocess")
    if "base_config" in top.value and any(table.named(setting) is None for setting in ("n_fft", "hop_length")):
        raise ConfigurationError(
            f"its settings are in its base_config, {short(top.get('base_config'))}, which is not there: give a file of "
            "a checkpoint, or one in a checkout of Amphion"
        )
    config = table.config(get_preset("hifigan-unscaled").config)
    if "mel_mean" not in table.value and "mel_var" not in table.value:
        return config
    mean, variance = table.number("mel_mean"), table.number("mel_var")
    if variance <= 0:
        raise ConfigurationError(f"expected a number > 0 for '{table.where}mel_var', found {variance:g}")
    return replace(config, compression=Compression(scale=variance**-0.5, offset=-mean * variance**-0.5))


def _coqui(top: ConfigTable) -> MelConfig:
    table = top.table("audio")
    if str(top.get("model", "")).lower() == "vits":
        # wav_to_mel of TTS/tts/models/vits.py.
        return table.config(get_preset("vits").config)
    # AudioProcessor of TTS/utils/audio/processor.py, with the defaults of BaseAudioConfig.
    for name, accepted in {"stft_pad_mode": "reflect", "stats_path": "", "do_amp_to_db_mel": True}.items():
        table.refuse(name, accepted)
    gain = table.number("spec_gain", 20)
    is_natural = str(table.get("log_func", "np.log10")) == "np.log"
    if not is_natural:
        table.refuse("log_func", "np.log10")
    compression = Compression("ln" if is_natural else "log10", floor=1e-8, scale=gain)
    if table.get("signal_norm", True):
        compression = _coqui_range(table, compression)
    config = table.config(
        replace(get_preset("coqui").config, compression=compression),
        sample_rate=22050, n_fft=1024, win_length=1024, hop_length=256, n_mels=80, fmin=0.0, fmax=None,
    )  # fmt: skip
    # sound_norm of numpy_transforms.volume_norm: x / |x|.max · 0.95.
    peak = 0.95 if table.get("do_sound_norm", False) else None
    return replace(config, preemphasis=table.number("preemphasis", 0), peak=peak)


def _coqui_range(table: ConfigTable, compression: Compression) -> Compression:
    """Return the compression with the range of decibels that Coqui maps to ±max_norm, or to 0 to max_norm."""
    low, reference, top = (
        table.number(name, usual) for name, usual in (("min_level_db", -100), ("ref_level_db", 20), ("max_norm", 4.0))
    )
    if not low < 0:
        raise ConfigurationError(f"expected a number < 0 for '{table.where}min_level_db', found {low:g}")
    is_symmetric = bool(table.get("symmetric_norm", True))
    unit = (2 if is_symmetric else 1) * top / -low
    # Rounded, because 120 · 0.08 − 4 is not 2.4 in binary.
    offset = round((-reference - low) * unit - (top if is_symmetric else 0), 12)
    bounds = (-top if is_symmetric else 0.0, top) if table.get("clip_norm", True) else (None, None)
    return replace(compression, scale=compression.scale * unit, offset=offset, minimum=bounds[0], maximum=bounds[1])


def _vocos(top: ConfigTable) -> MelConfig:
    # MelSpectrogramFeatures of vocos/feature_extractors.py; padding 'same' pads (win − hop) / 2.
    extractor = _vocos_extractor(top)
    kind = str(extractor.get("class_path", ""))
    if kind.rpartition(".")[2] != "MelSpectrogramFeatures":
        raise ConfigurationError(
            f"'{extractor.where}class_path': expected MelSpectrogramFeatures, found {short(kind)}, which has no mels"
        )
    table = extractor.table("init_args")
    n_fft = table.get("n_fft", 1024)
    config = table.config(
        get_preset("vocos").config,
        sample_rate=24000, n_fft=1024, win_length=n_fft, hop_length=256, n_mels=100, fmin=0.0, fmax=None,
    )  # fmt: skip
    if (padding := table.get("padding", "center")) not in ("center", "same"):
        raise ConfigurationError(f"expected 'center' or 'same' for '{table.where}padding', found {short(padding)}")
    return replace(config, framing="center" if padding == "center" else "hifigan")


def _vocos_extractor(top: ConfigTable) -> ConfigTable:
    places = (("model", "init_args", "feature_extractor"), ("feature_extractor",))
    found = [top.table(*names) for names in places]
    return next((table for table in found if "class_path" in table.value), ConfigTable(None))


def _nemo(top: ConfigTable) -> MelConfig:
    # FilterbankFeatures of nemo/collections/asr/parts/preprocessing/features.py.
    table = _nemo_table(top)
    for name, accepted in {
        "normalize": ("", "NA", "None"),  # other words than its own normalize nothing
        "frame_splicing": (1,),
        "log": (True,),
        "window": ("hann",),
        "mel_norm": ("slaney",),
        "use_grads": (True, False),
    }.items():
        table.refuse(name, *accepted)
    guard = str(table.get("log_zero_guard_type", "add"))
    if guard not in ("add", "clamp"):
        raise ConfigurationError(f"expected 'add' or 'clamp' for '{table.where}log_zero_guard_type', found {guard!r}")
    name = "nemo-hifigan" if table.get("exact_pad", False) else "nemo-fastpitch"
    floor = table.number("log_zero_guard_value", 2.0**-24)
    compression = replace(LogMagnitude(floor), floor_mode="max" if guard == "clamp" else "add")
    base = replace(get_preset(name).config, compression=compression)
    names = {} if "nfilt" in table.value or "features" not in table.value else {"n_mels": int(table.number("features"))}
    config = table.config(base, fmin=0.0, fmax=None, **names)
    preemphasis = 0.0 if table.get("preemph", 0.97) is None else table.number("preemph", 0.97)
    power = table.number("mag_power", 2.0)
    if power not in (1, 2):
        raise ConfigurationError(f"expected 1 or 2 for '{table.where}mag_power', found {power:g}")
    # null is no norm; with gradients, 1e-5 is added under the root.
    norm = None if table.value.get("mel_norm", "slaney") is None else "slaney"
    offset = 1e-5 if table.get("use_grads", False) else 0.0
    return replace(config, preemphasis=preemphasis, power=int(power), mel_norm=norm, power_offset=offset)


def _nemo_table(top: ConfigTable) -> ConfigTable:
    found = [top.table(*names) for names in (("model", "preprocessor"), ("preprocessor",))]
    return next((table for table in found if table.value), ConfigTable(None))


def _f5(top: ConfigTable) -> MelConfig:
    # get_vocos_mel_spectrogram and get_bigvgan_mel_spectrogram of src/f5_tts/model/modules.py.
    table = top.table("model", "mel_spec")
    kind = table.get("mel_spec_type", "vocos")
    if kind not in ("vocos", "bigvgan"):
        raise ConfigurationError(f"expected 'vocos' or 'bigvgan' for '{table.where}mel_spec_type', found {short(kind)}")
    base = get_preset("f5-tts" if kind == "vocos" else "hifigan-unscaled").config
    return table.config(base, fmin=0.0, fmax=None)


def _cosyvoice(top: ConfigTable) -> MelConfig:
    # mel_spectrogram of matcha/utils/audio.py; compute_fbank of cosyvoice/dataset/processor.py pads before it.
    table, multiple = top.table("feat_extractor"), top.table("compute_fbank").number("num_frames", -1)
    table.refuse("center", False)
    return replace(table.config(get_preset("cosyvoice").config), length_multiple=max(1, int(multiple)))


def _matcha(top: ConfigTable) -> MelConfig:
    # mel_spectrogram of matcha/utils/audio.py, normalized by the statistics of the corpus in text_mel_datamodule.py.
    config, statistics = top.config(get_preset("matcha").config), top.table("data_statistics")
    mean, std = statistics.number("mel_mean", 0.0), statistics.number("mel_std", 1.0)
    if std <= 0:
        raise ConfigurationError(f"expected a number > 0 for '{statistics.where}mel_std', found {std:g}")
    return replace(config, compression=Compression(scale=1 / std, offset=-mean / std))


def _styletts2(top: ConfigTable) -> MelConfig:
    # meldataset.py: 80 bins, and a filter bank for 16,000 Hz, whatever the file says.
    parameters = top.table("preprocess_params")
    rate, table = parameters.number("sr", 24000), parameters.table("spect_params")
    base = get_preset("styletts2").config
    own = {"sample_rate": int(rate), "n_mels": base.n_mels, "fmin": base.fmin, "fmax": base.fmax}
    return table.config(base, **own, n_fft=2048, win_length=1200, hop_length=300)


def _parallel_wavegan(top: ConfigTable) -> MelConfig:
    # logmelfilterbank of parallel_wavegan/bin/preprocess.py, which took 'log_base' from the file in 0.5 alone.
    top.refuse("sampling_rate_for_feats", top.get("sampling_rate"))
    base = top.value.get("log_base", 10)
    if base != 10:
        found = "null" if base is None else short(base)
        raise ConfigurationError(
            f"'log_base': expected 10.0, found {found}, which versions from 0.6 on do not read; delete the line for a "
            "model of these"
        )
    compression = Compression(log="log10", floor=1e-10)
    window = str(top.get("window", "hann"))
    config = replace(get_preset("parakeet-fastspeech2").config, compression=compression, window=window)
    return top.config(config, win_length=None, fmin=0.0, fmax=None)


def _wavenet_vocoder(top: ConfigTable) -> MelConfig:
    # logmelspectrogram of audio.py. Before it, the scripts cut off what is below highpass_cutoff, and trim.
    top.refuse("window", "hann")
    if top.get("win_length", -1) in (None, -1) or top.get("hop_size") is None:
        raise ConfigurationError("'win_length' and 'hop_size' in milliseconds are not read; give them in samples")
    return top.config(get_preset("wavenet-vocoder").config)


def _univnet(top: ConfigTable) -> MelConfig:
    # TacotronSTFT of utils/stft.py; datasets/dataloader.py pads before it.
    table = top.table("audio")
    least = table.number("segment_length", 16_384) + table.number("pad_short", 2_000)
    return replace(table.config(get_preset("univnet").config), least_length=int(least))


def _nsf_hifigan(top: ConfigTable) -> MelConfig:
    # nvSTFT.py of openvpi/DiffSinger: |X| without an offset.
    return top.config(replace(get_preset("hifigan-unscaled").config, power_offset=0.0))


def _singing_vocoders(top: ConfigTable) -> MelConfig:
    # utils/wav2mel.py and process.py of openvpi/SingingVocoders: |X| without an offset, with a floor of 1e-9.
    base = replace(get_preset("hifigan-unscaled").config, power_offset=0.0, compression=LogMagnitude(1e-9))
    return top.config(base)


def _fish(top: ConfigTable) -> MelConfig:
    # LogMelSpectrogram of fish_speech/utils/spectrogram.py.
    table = _fish_table(top)
    if not table.value:
        raise ConfigurationError("a codec, which reads waveforms: store them by --waveform")
    return table.config(get_preset("fish-speech").config, fmin=0.0, fmax=None)


def _fish_table(top: ConfigTable) -> ConfigTable:
    return next(
        (top.table(name) for name in ("spec_transform", "mel_transform") if name in top.value), ConfigTable(None)
    )


def _target(table: ConfigTable) -> str:
    return str(table.value.get("_target_", ""))


def _is_of_vocos(top: ConfigTable) -> bool:
    return bool(_vocos_extractor(top).value)


def _is_of_nemo(top: ConfigTable) -> bool:
    table = _nemo_table(top)
    return "n_window_size" in table.value or "nemo." in _target(table) or "window_stride" in table.value


def _is_of_fish(top: ConfigTable) -> bool:
    return "fish_speech." in _target(top)


def _is_of_gpt_sovits(top: ConfigTable) -> bool:
    data = top.table("data").value
    return "filter_length" in data and bool({"s2_ckpt_dir", "s1_ckpt_dir"} & {*top.value, *data})


_COQUI: Final = {"fft_size", "do_trim_silence", "signal_norm", "min_level_db", "ref_level_db", "do_sound_norm"}
_COQUI_ABOVE: Final = {"model", "run_name", "generator_model", "output_path"}
"""Settings of Coqui's table ``audio``, and those above it; one is enough."""


def _is_of_coqui(top: ConfigTable) -> bool:
    audio = {*top.table("audio").value}
    return bool(audio and (_COQUI & audio or _COQUI_ABOVE & {*top.value}))


def _system(name: str, mel: str, reading: Mapping[str, Any], presets: Sequence[str] = (), **of: Any) -> System:
    """Return the system of a row of ``systems.json``.

    Args:
        mel, reading: the function of its mel; how it reads recordings: as a preset does, or settings.
        of: how a file is recognized: ``has`` names settings ``at`` a table, ``tables`` those that are not empty,
            ``values`` what settings may be; ``by`` is a function.
    """

    def is_of(top: ConfigTable) -> bool:
        table = top.table(*of["at"]) if "at" in of else top
        has_all = {*of.get("has", ())} <= {*table.value} and all(top.table(one).value for one in of.get("tables", ()))
        return has_all and all(top.value.get(key) in some for key, some in of.get("values", {}).items())

    read = get_preset(reading["preset"]).reading if "preset" in reading else ReadingConfig(**reading)
    return System(name, globals()[f"_{of['by']}"] if "by" in of else is_of, globals()[f"_{mel}"], read, tuple(presets))


SYSTEMS: Final = tuple(
    _system(**row) for row in json.loads(Path(__file__).with_name("systems.json").read_text("utf-8"))
)
"""The systems, in the order in which a file is tried: a file of an earlier one can look like one of a later one."""
