"""``tts-prep plot``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import OUTPUT_FILE, PATH, integer_option
from tts_prep.cli.verbosity import quiet_option, say

_SUFFIXES = (".png", ".svg", ".pdf")


@click.command()
@click.argument("store", type=PATH)
@click.argument("utterance_id", metavar="ID")
@click.option(
    "--output",
    "-o",
    type=OUTPUT_FILE,
    default="plot.png",
    show_default=True,
    metavar="FILE",
    help="The file to write: .png, .svg or .pdf.",
)
@integer_option("--dpi", "Pixels per inch of .png.", default=120, least=20, most=600)
@quiet_option
def plot(store: Path, utterance_id: str, output: Path, dpi: int) -> None:
    r"""Plot the utterance ID of STORE: waveform, mel, pitch, energy and phones.

    Arrays that the store does not have are omitted.

    \b
    Examples:
      tts-prep plot store LJ001-0001 -o LJ001-0001.png
      tts-prep plot store LJ001-0001 -o LJ001-0001.pdf
    """
    import difflib

    from tts_prep.errors import ConfigurationError
    from tts_prep.format.files.atomic import replacing
    from tts_prep.loader import UtteranceDataset
    from tts_prep.pictures.figure import save_figure

    suffix = output.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ConfigurationError(f"{output}: expected a name that ends in {', '.join(_SUFFIXES)}")
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
