"""``tts-prep demo``."""

from pathlib import Path

import click

from tts_prep.cli.options import OUTPUT_FOLDER
from tts_prep.cli.output import quiet_option, say
from tts_prep.errors import ConfigurationError
from tts_prep.format.layout import SHARDS


@click.command()
@click.argument("folder", type=OUTPUT_FOLDER)
@quiet_option
def demo(folder: Path) -> None:
    r"""Run all steps, from recordings to padded batches, in FOLDER.

    espeak-ng synthesizes a few dozen sentences into FOLDER/corpus, in the layout of LJ Speech. The command makes
    FOLDER/store of them, and lists the batches of the first epoch. Nothing is downloaded.

    \b
    Example:
      tts-prep demo demo
    """
    import numpy as np

    from tts_prep.cli.commands import corpus_command
    from tts_prep.demo.corpus import make_demo_corpus
    from tts_prep.inspection.info import info
    from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset
    from tts_prep.preprocess.corpora.corpus import get_corpus

    if (folder / SHARDS).is_dir():
        raise ConfigurationError(f"{folder}: a store; give a new folder")
    corpus, store = folder / "corpus", folder / "store"
    context = click.get_current_context()
    count = make_demo_corpus(corpus)
    say(f"{corpus}: {count} sentences, synthesized by espeak-ng\n")
    say(click.style(f"$ tts-prep ljspeech {corpus} {store}", fg="cyan"))
    context.invoke(corpus_command(get_corpus("ljspeech")), source=corpus, store=store)
    say(click.style(f"\n$ tts-prep info {store}", fg="cyan"))
    context.invoke(info, store=store)
    say(click.style("\nthe batches of the first epoch, of at most 4,000 padded frames each", fg="cyan"))
    dataset = UtteranceDataset(store)
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=4000, seed=0)
    for number, batch in enumerate(DataLoader(dataset, batch_sampler=sampler)):
        padding = 1 - np.sum(batch.mel_lengths) / (batch.mel.shape[0] * batch.mel.shape[1])
        say(f"{number:>3}  mel {batch.mel.shape!s:<16} phonemes {batch.phonemes.shape!s:<12} padding {padding:.1%}")
