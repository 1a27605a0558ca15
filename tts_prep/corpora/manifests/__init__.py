"""Corpora described by a manifest: JSON lines, tables, parquet and arrow files, lhotse manifests, tar archives."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.source_utterance import SourceUtterance


def read(
    corpus: Path, *, root: Path | None = None, texts: bool = True, report: Callable[[str], None], **options: Any
) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of manifests; see `read_manifest`."""
    # Imported late, because help texts and worker processes do not read manifests.
    from tts_prep.corpora.manifests.reader import read_manifest

    return read_manifest(corpus, root=root, texts=texts, report=report, **options)


def sources(paths: Sequence[Path]) -> tuple[Path, dict[str, Any]]:
    """Return the folder that contains all manifests, and their paths relative to it."""
    folders = [path.absolute() if path.is_dir() else path.absolute().parent for path in paths]
    corpus = Path(os.path.commonpath(folders))
    return corpus, {"files": [os.path.relpath(path, corpus) for path in paths]}
