"""The first lines of a run: what the command understood, before anything is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora import Failure, Utterance
from tts_prep.preprocess.runs.prepare import Progress


def understood(corpus: Path, config: Configuration) -> str:
    """Return one line on what a run reads and how."""
    text = config.text
    return (
        f"corpus: {config.corpus} {corpus}; preset: {config.preset or 'none'}; frontend: {text.frontend_name}, "
        f"language {text.language}{'' if text.normalize else ', texts as they stand'}"
    )


def notes(corpus: Path, store: Path) -> list[str]:
    """Return lines on what a run may not mean to do."""
    inside = corpus.is_dir() and store.absolute().resolve().is_relative_to(corpus.absolute().resolve())
    return [f"note: the store {store} lies inside of the corpus"] if inside else []


def noting_rate(
    items: Iterator[Utterance | Failure], folder: Path, sample_rate: int, report: Callable[[str], None]
) -> Iterator[Utterance | Failure]:
    """Pass on the rows of a corpus; report where the first recording has a lower sample rate than the mels.

    Args:
        folder: what audio paths are relative to.
        sample_rate: of the mels, Hz.
    """
    is_first = True
    for item in items:
        if is_first and isinstance(item, Utterance) and not item.inside:
            is_first = False
            rate = _rate(folder / item.audio)
            if rate and rate < sample_rate:
                report(
                    f"note: {item.audio} has {rate:,} Hz and is resampled to {sample_rate:,} Hz; "
                    f"above {rate // 2:,} Hz its mels are empty"
                )
        yield item


def _rate(path: Path) -> int:
    import soundfile

    try:
        return int(soundfile.info(path).samplerate) if path.is_file() else 0
    except (soundfile.SoundFileError, OSError, ValueError):
        return 0


def with_first_lines(lines: list[str], progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Return a callback that prints lines and the number of rows before it shows progress for the first time.

    Args:
        lines: may grow until then; emptied.
        progress: shows it.
    """

    def show(now: Progress) -> None:
        if lines:
            click.echo("\n".join([*lines, f"rows: {now.total:,}"]))
            lines.clear()
        progress(now)

    return show
