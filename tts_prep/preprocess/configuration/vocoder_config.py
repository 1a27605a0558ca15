"""Read the mel settings of a vocoder from the configuration of its checkpoint.

Each system has a function below, which says what its code computes from its file; the mel of the system is in the
comment with the place of its code.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import ConfigurationError
from tts_prep.format.files.regular_files import read_regular
from tts_prep.preprocess.audio.compression import Compression, LogMagnitude
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.safe_yaml import safe_load

_MAX_BYTES: Final = 1 << 17
"""The maximum length of a file, which PyYAML reads in some seconds; those of vocoders have some thousand bytes."""
_EXPECTED: Final = (
    "the configuration of a vocoder: of HiFi-GAN or BigVGAN (JSON), VITS, GPT-SoVITS, Coqui TTS, Amphion (JSON), Vocos "
    "or NeMo (YAML)"
)
# The names of a setting in the files of all systems; two of them in one table must not contradict each other.
_NAMES: Final = {
    "sample_rate": ("sampling_rate", "sample_rate"),
    "n_fft": ("n_fft", "filter_length", "fft_size"),
    "win_length": ("win_size", "win_length", "n_window_size"),
    "hop_length": ("hop_size", "hop_length", "n_window_stride"),
    "n_mels": ("num_mels", "n_mel_channels", "n_mels", "n_mel", "nfilt"),
    "fmin": ("fmin", "mel_fmin", "lowfreq"),
    "fmax": ("fmax", "mel_fmax", "highfreq"),
}
# A text or comment without an end reaches to that of the file, so that no later one is searched through it again.
_COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)


def read_vocoder_config(path: Path) -> MelConfig:
    """Return the mel settings of a vocoder, from the configuration of its checkpoint.

    An fmax of null is half of the sample rate.

    Raises:
        ConfigurationError: the file is not such a configuration, or contradicts itself.
        MissingPackageError: it is YAML, and PyYAML is not installed.
    """
    value = _parsed(path)
    try:
        make = next(make for is_of, make in _SYSTEMS if is_of(value))
        return make(_Table(value))
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _parsed(path: Path) -> Any:
    try:
        data = read_regular(path, _MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from error
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    kind = "YAML" if is_yaml else "JSON"
    try:
        text = data.decode("utf-8-sig")
        if is_yaml:
            return safe_load(text, "configurations in YAML")
        # Amphion and Coqui write comments, and commas before brackets.
        for pattern in (_COMMENT, _TRAILING_COMMA):
            text = pattern.sub(lambda found: found[1] or "", text)
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigurationError(f"{path}: not {kind} ({reason}); expected {_EXPECTED}") from error


class _Table:
    """A mapping of a configuration, whose values are checked when they are read.

    Args:
        value: the mapping.
        where: the names that lead to it, with dots.
        top: the whole configuration, which ``${name}`` refers to, as in NeMo's.
    """

    def __init__(self, value: Any, where: str = "", top: Mapping[str, Any] | None = None) -> None:
        self.value: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        self.where = where
        self.top = self.value if top is None else top

    def table(self, *names: str) -> _Table:
        """Return a table in this one; an empty one if it has none."""
        found: Any = self.value
        for name in names:
            found = found.get(name) if isinstance(found, Mapping) else None
        return _Table(found, ".".join((*filter(None, [self.where]), *names)) + ".", self.top)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or the one that ``${name}`` refers to."""
        value = self.value.get(name, default)
        if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
            return self.top.get(value[2:-1])
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number.

        Raises:
            ConfigurationError: it is another value.
        """
        value = self.get(name, default)
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+", value):
            value = float(value)  # YAML 1.1 reads 1e-05 as text
        if type(value) not in (int, float) or (type(value) is float and not math.isfinite(value)):
            raise ConfigurationError(f"expected a number for '{self.where}{name}', found {_short(value)}")
        self._check_size(name, value)
        return float(value)

    def refuse(self, name: str, *accepted: Any) -> None:
        """Check that a setting is not there, or has a value that this reader knows.

        Raises:
            ConfigurationError: it has another value.
        """
        if (value := self.get(name)) not in (None, *accepted):
            raise ConfigurationError(
                f"'{self.where}{name}': {_short(value)} is not supported; give the settings by --config"
            )

    def config(self, base: MelConfig, **defaults: Any) -> MelConfig:
        """Return ``base`` with the lengths, the rate and the band of this table.

        Raises:
            ConfigurationError: one is missing, no number, or given twice with different values.
        """
        found = {setting: self._named(setting) for setting in _NAMES}
        missing = [
            _usual_name(self.value, setting)
            for setting, name in found.items()
            if name is None and setting not in defaults
        ]
        if missing:
            names = ", ".join(self.where + name for name in missing)
            raise ConfigurationError(f"expected {_EXPECTED}, found none of its {names}")
        values: dict[str, Any] = {}
        for setting, name in found.items():
            if name is None:
                values[setting] = defaults[setting]
            elif setting == "fmax" and self.get(name) is None:
                values[setting] = None
            elif setting in ("fmin", "fmax"):
                values[setting] = self.number(name)
            else:
                values[setting] = self._whole(name)
        if values["fmax"] is None:
            values["fmax"] = values["sample_rate"] / 2
        return replace(base, **values)

    def _named(self, setting: str) -> str | None:
        """Return the name that the table has for a setting; None if it has none."""
        names = [name for name in _NAMES[setting] if name in self.value]
        values = [self.get(name) for name in names]
        for name, value in zip(names, values, strict=True):
            if value != values[0]:
                raise ConfigurationError(
                    f"'{self.where}{names[0]}' is {_short(values[0])} and '{self.where}{name}' is {_short(value)}; "
                    "both are the same setting: correct the wrong one"
                )
        return names[0] if names else None

    def _whole(self, name: str) -> int:
        value = self.get(name)
        if type(value) is not int:
            raise ConfigurationError(f"expected a number for '{self.where}{name}', found {_short(value)}")
        self._check_size(name, value)
        return value

    def _check_size(self, name: str, value: float) -> None:
        if isinstance(value, int) and abs(value) >= 1 << 63:
            raise ConfigurationError(f"'{self.where}{name}': a number of {value.bit_length()} bits is too large")


def _usual_name(table: Mapping[str, Any], setting: str) -> str:
    """Return the name of a missing setting in the system that the other names are of: HiFi-GAN, VITS or NeMo."""
    place = {"filter_length": 1, "n_window_size": -1, "n_window_stride": -1}
    return _NAMES[setting][next((number for name, number in place.items() if name in table), 0)]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"a value of type {type(value).__name__}"


def _hifigan(top: _Table) -> MelConfig:
    # meldataset.py of jik876/hifi-gan and NVIDIA/BigVGAN: recordings are scaled to a peak of 0.95.
    return top.config(get_preset("hifigan").config)


def _vits(top: _Table) -> MelConfig:
    # mel_processing.py of jaywalnut310/vits adds 1e-6 to the power, that of RVC-Boss/GPT-SoVITS 1e-8.
    offset = 1e-8 if "s2_ckpt_dir" in top.value or "s2_ckpt_dir" in top.table("data").value else 1e-6
    return top.table("data").config(replace(get_preset("vits").config, power_offset=offset))


def _amphion(top: _Table) -> MelConfig:
    # extract_mel_features of utils/mel.py; a base_config has the settings that a file lacks.
    table = top.table("preprocess")
    # Of Vevo, whose mel is another one, which is normalized.
    for name in ("mel_mean", "mel_var"):
        table.refuse(name)
    if "base_config" in top.value and any(table._named(setting) is None for setting in ("n_fft", "hop_length")):
        raise ConfigurationError(
            f"its settings are in its base_config, {_short(top.get('base_config'))}: give that file, or a checkpoint's"
        )
    return table.config(get_preset("hifigan-unscaled").config)


def _coqui(top: _Table) -> MelConfig:
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


def _coqui_range(table: _Table, compression: Compression) -> Compression:
    """Return the compression with the range of decibels that Coqui maps to ±max_norm, or to 0 to max_norm."""
    low, reference, top = (
        table.number(name, usual) for name, usual in (("min_level_db", -100), ("ref_level_db", 20), ("max_norm", 4.0))
    )
    is_symmetric = bool(table.get("symmetric_norm", True))
    unit = (2 if is_symmetric else 1) * top / -low
    # Rounded, because 120 · 0.08 − 4 is not 2.4 in binary.
    offset = round((-reference - low) * unit - (top if is_symmetric else 0), 12)
    bounds = (-top if is_symmetric else 0.0, top) if table.get("clip_norm", True) else (None, None)
    return replace(compression, scale=compression.scale * unit, offset=offset, minimum=bounds[0], maximum=bounds[1])


def _vocos(top: _Table) -> MelConfig:
    # MelSpectrogramFeatures of vocos/feature_extractors.py; padding 'same' pads (win − hop) / 2.
    table = _vocos_table(top)
    n_fft = table.get("n_fft", 1024)
    config = table.config(
        get_preset("vocos").config,
        sample_rate=24000, n_fft=1024, win_length=n_fft, hop_length=256, n_mels=100, fmin=0.0, fmax=None,
    )  # fmt: skip
    if (padding := table.get("padding", "center")) not in ("center", "same"):
        raise ConfigurationError(f"expected 'center' or 'same' for '{table.where}padding', found {_short(padding)}")
    return replace(config, framing="center" if padding == "center" else "hifigan")


def _vocos_table(top: _Table) -> _Table:
    for names in (("model", "init_args", "feature_extractor"), ("feature_extractor",)):
        if (found := top.table(*names)).value:
            kind = str(found.get("class_path", ""))
            if kind.rpartition(".")[2] != "MelSpectrogramFeatures":
                raise ConfigurationError(
                    f"'{found.where}class_path': expected MelSpectrogramFeatures, found {_short(kind)}"
                )
            return found.table("init_args")
    return _Table(None)


def _nemo(top: _Table) -> MelConfig:
    # FilterbankFeatures of nemo/collections/asr/parts/preprocessing/features.py.
    table = _nemo_table(top)
    for name, accepted in {
        "normalize": "",
        "frame_splicing": 1,
        "log": True,
        "window": "hann",
        "mel_norm": "slaney",
    }.items():
        table.refuse(name, accepted)
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
    return replace(config, preemphasis=preemphasis, power=int(power))


def _nemo_table(top: _Table) -> _Table:
    for names in (("model", "preprocessor"), ("preprocessor",)):
        if (found := top.table(*names)).value:
            return found
    return _Table(None)


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda value: bool(_Table(value).table(*names).value)


# The first that applies. Files of HiFi-GAN and BigVGAN have no tables, so that their test is the last.
_SYSTEMS: Final[tuple[tuple[Callable[[Any], bool], Callable[[_Table], MelConfig]], ...]] = (
    (_has("preprocess"), _amphion),
    (_has("audio"), _coqui),
    (lambda value: bool(_vocos_table(_Table(value)).value), _vocos),
    (lambda value: bool(_nemo_table(_Table(value)).value), _nemo),
    (_has("data"), _vits),
    (lambda _: True, _hifigan),
)
