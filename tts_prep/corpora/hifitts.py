"""The Hi-Fi TTS corpus: ten speakers of English, from LibriVox."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.source_utterance import SourceUtterance


def read_hifitts(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<speaker>_manifest_<clean|other>_<split>.json``, one JSON object per line.

    The text is ``text_normalized``. The id is the name of the recording. Split and quality become columns.

    Raises:
        CorpusError: there is no such manifest.
    """
    # Imported late, because help texts and worker processes do not read manifests.
    from tts_prep.corpora.manifests.json_lines import json_objects

    manifests = sorted(root.glob("*_manifest_*_*.json")) if root.is_dir() else []
    if not manifests:
        raise CorpusError(f"{root}: no 92_manifest_clean_train.json or other manifest; is it the folder of the corpus?")
    for path in manifests:
        parts = re.fullmatch(r"(?P<speaker>.+)_manifest_(?P<quality>[^_]+)_(?P<split>[^_]+)", path.stem)
        for where, row in json_objects(path):
            if isinstance(row, Failure):
                yield row
                continue
            audio, text = row.get("audio_filepath"), row.get("text_normalized") or row.get("text")
            if not (parts and isinstance(audio, str) and isinstance(text, str) and audio and text):
                yield Failure("", where, "corpus", f"{where}: expected texts 'audio_filepath' and 'text_normalized'")
                continue
            meta = {"split": parts["split"], "quality": parts["quality"]}
            identifier = PurePosixPath(audio).stem
            yield SourceUtterance(identifier, text, audio, where, parts["speaker"], meta, normalized=True)


CORPUS = Corpus(
    "hifitts",
    read_hifitts,
    r"""Make STORE of the Hi-Fi TTS corpus at CORPUS.

    CORPUS contains manifests such as 92_manifest_clean_train.json, and audio/. Split and quality (clean or other)
    become columns.

    \b
    Example:
      tts-prep hifitts hi_fi_tts_v0 store
    """,
    languages=("en-us",),
    layout=(("*_manifest_clean_*.json",), ("*_manifest_other_*.json",)),
)
