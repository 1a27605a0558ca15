"""``tts-prep export``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import PATH
from tts_prep.cli.verbosity import quiet_option, say


def _complete_layout(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the layouts for shell completion."""
    from tts_prep.export import LAYOUTS

    return [name for name in LAYOUTS if name.startswith(incomplete)]


@click.command()
@click.argument("store", type=PATH)
@click.argument("folder", type=PATH)
@click.option(
    "--to", "layout", metavar="LAYOUT", required=True, shell_complete=_complete_layout, help="The layout to write."
)
@quiet_option
def export(store: Path, folder: Path, layout: str) -> None:
    r"""Write STORE to FOLDER in the layout of another system.

    \b
      ctm          phones.ctm and words.ctm, from durations
      espnet       wav.scp, text, phn_text, utt2spk, spk2utt, wavs/
      fastspeech2  ming024's mel/, pitch/, energy/, duration/, train.txt, val.txt
      kaldi        feats.ark, feats.scp, wav.scp, text, utt2spk, spk2utt, wavs/ of 16 bits
      lhotse       cuts.jsonl.gz, features/ and wavs/
      nemo         manifest.json, wavs/
      parquet      data/*.parquet for Hugging Face datasets
      piper        metadata.csv with phoneme ids, wavs/
      textgrid     a TextGrid for each utterance, from durations
      webdataset   tar archives with json, mel.npy, phonemes.npy and wav

    \b
    Example:
      tts-prep export store cuts --to lhotse
    """
    from tts_prep.export import export as export_store
    from tts_prep.quantities import count_text

    files = export_store(store, layout, folder)
    say(f"{folder}: {count_text(len(files), 'file')} in the layout of {layout}")
