"""``tts-prep plot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tts_prep.cli.options import READ_STORE, with_options
from tts_prep.cli.output import quiet_option, say
from tts_prep.errors import ConfigurationError
from tts_prep.format.files.atomic import replacing
from tts_prep.preprocess.option import OptionTable

if TYPE_CHECKING:
    from tts_prep.loader import Utterance

_SUFFIXES = (".png", ".svg", ".pdf")
_MAX_SECONDS: Final = 600
"""The maximum duration of an utterance that is made audible, which takes about a third of it."""


@click.command()
@click.argument("store", type=READ_STORE)
@click.argument("utterance_id", metavar="ID")
@with_options(OptionTable(__file__), "plot")
@quiet_option
def plot(store: Path, utterance_id: str, output: Path, sound: Path | None, dpi: int) -> None:
    r"""Plot the utterance ID of STORE: waveform, mel, pitch, energy and phones.

    Arrays that the store does not have are omitted. With --sound, the mel is made audible by the method of Griffin and
    Lim: it sounds metallic, but a wrong speed, pitch or level of its settings is heard before a model is trained.

    \b
    Examples:
      tts-prep plot store LJ001-0001 -o LJ001-0001.png
      tts-prep plot store LJ001-0001 -o LJ001-0001.pdf
      tts-prep plot store LJ001-0001 --sound LJ001-0001.wav
    """
    import difflib

    from tts_prep.loader import UtteranceDataset
    from tts_prep.pictures.figure import save_figure

    suffix = output.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ConfigurationError(f"{output}: expected a name that ends in {', '.join(_SUFFIXES)}")
    if sound and sound.suffix.lower() != ".wav":
        raise ConfigurationError(f"{sound}: expected a name that ends in .wav")
    dataset = UtteranceDataset(store)
    selected = dataset.filter(lambda m: m.id == utterance_id)
    if not len(selected):
        close = difflib.get_close_matches(utterance_id, list(dataset.id[:20_000]), n=3, cutoff=0.5)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise ConfigurationError(f"{store}: no utterance '{utterance_id}' among {len(dataset):,}{hint}")
    figure = selected[0].plot()
    with replacing(output) as partial:
        save_figure(figure, partial, suffix[1:], dpi)
    say(f"{output}: {selected[0].id}, {selected[0].seconds:.2f} s")
    if sound:
        _write_sound(store, selected[0], sound)
        say(f"{sound}: the mel, made audible; its phase is estimated")


def _write_sound(store: Path, utterance: Utterance, path: Path) -> None:
    """Write a WAV file of what a mel sounds like.

    Raises:
        ConfigurationError: the utterance is too long.
    """
    import soundfile

    from tts_prep.format.records.manifest import read_manifest
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.signals.processor import AudioProcessor

    if utterance.seconds > _MAX_SECONDS:
        raise ConfigurationError(f"{path}: {utterance.seconds:.0f} s long, expected at most {_MAX_SECONDS} s")
    config = Configuration.from_dict(store, read_manifest(store).configuration).mel
    waveform = AudioProcessor(config).to_waveform(utterance.mel)
    # An estimated phase can give higher peaks than those of the recording.
    waveform /= max(1, float(abs(waveform).max()))
    with replacing(path) as partial:
        soundfile.write(partial, waveform, config.sample_rate, "PCM_16", format="WAV")
