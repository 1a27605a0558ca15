"""Write the demo corpus: a few minutes of synthetic speech in the shape of LJ Speech."""

from __future__ import annotations

import io
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import soundfile

from tts_prep.errors import CorpusError
from tts_prep.format.atomic import replacing
from tts_prep.preprocess.text.frontends.speech import speak


class Manner(NamedTuple):
    """A way of speaking, in the terms of ``speak``."""

    voice: str
    words_per_minute: int
    pitch: int


# The sentences are spoken in these manners in turn, so that lengths and spectra vary as they do between readers.
MANNERS = (
    Manner("en-us", 165, 50),
    Manner("en-us+f3", 150, 55),
    Manner("en-us+m3", 185, 45),
    Manner("en-us+f2", 175, 60),
    Manner("en-us+m7", 140, 40),
)


def make_demo_corpus(folder: Path) -> int:
    """Write ``metadata.csv`` and ``wavs/`` below a folder, which is made where missing; return the utterances.

    A row is ``id|text as printed|text as spoken``, without quoting; a recording is mono 16-bit PCM at 22,050 Hz. The
    bytes are the same every time, and a file that has them already is left alone. Raises CorpusError where the
    folder cannot be written.
    """
    rows = []
    try:
        (folder / "wavs").mkdir(parents=True, exist_ok=True)
        for number, (text, normalized) in enumerate(read_sentences()):
            utterance_id = f"DEMO-{number + 1:04d}"
            _write_if_different(folder / "wavs" / f"{utterance_id}.wav", _record(normalized, number))
            rows.append(f"{utterance_id}|{text}|{normalized}\n")
        _write_if_different(folder / "metadata.csv", "".join(rows).encode("utf-8"))
    except OSError as error:
        raise CorpusError(f"{folder}: cannot write the demo corpus: {error.strerror}; choose another folder") from error
    return len(rows)


def read_sentences() -> list[tuple[str, str]]:
    """Read the sentences of the package: each as printed and as spoken, numbers and abbreviations written out."""
    sentences = []
    for line in files("tts_prep.demo").joinpath("sentences.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            text, _, normalized = line.partition("|")
            sentences.append((text, normalized or text))
    return sentences


def _record(text: str, number: int) -> bytes:
    waveform, sample_rate = speak(text, **MANNERS[number % len(MANNERS)]._asdict())
    wav = io.BytesIO()
    soundfile.write(wav, waveform, sample_rate, format="WAV", subtype="PCM_16")
    return wav.getvalue()


def _write_if_different(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    with replacing(path) as partial:
        partial.write_bytes(content)
