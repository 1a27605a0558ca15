"""The JSUT corpus: one speaker of Japanese, nine subsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tts_prep.corpora.subsets import chosen_subsets, subset_option
from tts_prep.corpora.transcripts import subfolders
from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import SourceUtterance

SPEAKER: Final = "jsut"

_TRANSCRIPT: Final = "transcript_utf8.txt"


def read_jsut(root: Path, subsets: Sequence[str] = ()) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<subset>/transcript_utf8.txt`` with ``<subset>/wav/<id>.wav``.

    A line is ``BASIC5000_0001:text``. The subset, such as ``basic5000``, becomes the column ``subset``.

    Args:
        subsets: names of subsets; default: all that exist.

    Raises:
        CorpusError: no folder in the root has a transcript.
        ConfigurationError: a subset does not exist.
    """
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected the JSUT corpus, with basic5000/{_TRANSCRIPT}")
    existing = [name for name in subfolders(root) if (root / name / _TRANSCRIPT).exists()]
    if not existing:
        hint = f"; use {root.parent} with --subset {root.name}" if (root / _TRANSCRIPT).exists() else ""
        raise CorpusError(f"{root}: expected the JSUT corpus, with folders such as basic5000/{_TRANSCRIPT}{hint}")
    for subset in chosen_subsets(root, existing, subsets):
        for place, line in read_lines(root / subset / _TRANSCRIPT):
            where = f"{subset}/{place}"
            if isinstance(line, Failure):
                yield line
                continue
            # A text may contain colons.
            identifier, colon, text = (part.strip() for part in line.partition(":"))
            if not (identifier and colon and text):
                yield Failure(identifier, where, "corpus", f"{where}: expected 'id:text', found {line[:60]!r}")
                continue
            yield SourceUtterance(
                identifier, text, f"{subset}/wav/{identifier}.wav", where, SPEAKER, {"subset": subset}
            )


CORPUS = Corpus(
    "jsut",
    read_jsut,
    r"""Make STORE of the JSUT corpus of Japanese at CORPUS.

    CORPUS contains basic5000 and other subsets, each with transcript_utf8.txt and wav/<id>.wav.

    \b
    Example:
      tts-prep jsut jsut_ver1.1 store --subset basic5000
    """,
    options=(subset_option("basic5000"),),
    languages=("ja",),
)
