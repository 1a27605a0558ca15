"""The corpora that manifests describe; their readers are in `tts_prep.corpora.manifests`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.option import Option
from tts_prep.preprocess.source_utterance import SourceUtterance


def _read(
    corpus: Path, *, root: Path | None = None, texts: bool = True, report: Callable[[str], None], **options: Any
) -> Iterator[SourceUtterance | Failure]:
    # Imported late, because help texts and worker processes do not read manifests.
    from tts_prep.corpora.manifests.reader import read_manifest

    return read_manifest(corpus, root=root, texts=texts, report=report, **options)


def _sources(paths: Sequence[Path]) -> tuple[Path, dict[str, Any]]:
    """Return the folder that contains all manifests, and their paths relative to it."""
    folders = [path.absolute() if path.is_dir() else path.absolute().parent for path in paths]
    corpus = Path(os.path.commonpath(folders))
    return corpus, {"files": [os.path.relpath(path, corpus) for path in paths]}


MANIFEST = Corpus(
    "manifest",
    _read,
    r"""Make STORE of the recordings listed in manifests, or contained in them.

    A FILE can be:

    \b
      .jsonl, .json     NeMo, Emilia, audiofolder, arrays; lhotse's cuts, or supervisions and recordings (also .gz)
      .csv, .tsv        with a header: Common Voice, F5-TTS, Hi-Fi TTS, audiofolder
      .parquet, .arrow  Hugging Face datasets, recordings inside or as paths
      .tar              WebDataset, Emilia; recordings are read in place
      a folder          with any of these

    \b
    Examples:
      tts-prep manifest train_manifest.json store
      tts-prep manifest cv-corpus/en/train.tsv store --columns speaker=client_id
      tts-prep manifest cuts.jsonl.gz store --root recordings
    """,
    options=(
        Option(
            "columns",
            "The columns by role: audio, text, normalized_text, id, speaker, language, start, end, duration, ref_audio "
            "and instruct.  [default: guessed from their names, and printed]",
            metavar="ROLE=COLUMN,…",
        ),
    ),
    root="The folder of relative audio paths.  [default: the folder of each FILE]",
    layout=(("*.parquet",), ("data/*.parquet",), ("*.arrow",), ("*.jsonl",), ("*.jsonl.gz",), ("*.tar",)),
    source="FILE…",
    sources=_sources,
)
