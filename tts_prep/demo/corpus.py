"""Writing of the demo corpus: a few minutes of synthetic speech in the layout of LJ Speech."""

from __future__ import annotations

import io
import itertools
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import soundfile

from tts_prep.errors import CorpusError
from tts_prep.export.alignments import LabelledTime, textgrid
from tts_prep.format.files.atomic import replacing
from tts_prep.preprocess.text.frontends.speech import speak_with_phones


class Manner(NamedTuple):
    """A voice with rate and pitch; arguments of `tts_prep.preprocess.text.frontends.speech.speak`."""

    voice: str
    words_per_minute: int
    pitch: int


# The sentences cycle through these voices, so that durations and spectra vary as between speakers.
MANNERS = (
    Manner("en-us", 165, 50),
    Manner("en-us+f3", 150, 55),
    Manner("en-us+m3", 185, 45),
    Manner("en-us+f2", 175, 60),
    Manner("en-us+m7", 140, 40),
)


def make_demo_corpus(folder: Path) -> int:
    """Write ``metadata.csv``, ``wavs/`` and ``TextGrid/`` to a folder; return the number of utterances.

    The folder is created if necessary. A row is ``id|text|normalized text``, without quoting; a recording is mono
    16-bit PCM at 22,050 Hz. The TextGrids have the times of phones that espeak-ng reports during synthesis. Output is
    deterministic, and files with the correct contents are not rewritten.

    Raises:
        CorpusError: the folder contains another corpus, or cannot be written.
    """
    sentences = {f"DEMO-{number:04d}": texts for number, texts in enumerate(read_sentences(), 1)}
    rows = [f"{utterance_id}|{text}|{normalized}\n" for utterance_id, (text, normalized) in sentences.items()]
    metadata, content = folder / "metadata.csv", "".join(rows).encode("utf-8")
    try:
        if metadata.exists() and metadata.read_bytes() != content:
            raise CorpusError(f"{metadata}: of another corpus; nothing was changed; choose another folder")
        for name in ("wavs", "TextGrid"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for number, (utterance_id, (_, normalized)) in enumerate(sentences.items()):
            wav, textgrid = _record(normalized, number)
            _write_if_different(folder / "wavs" / f"{utterance_id}.wav", wav)
            _write_if_different(folder / "TextGrid" / f"{utterance_id}.TextGrid", textgrid)
        _write_if_different(metadata, content)
    except OSError as error:
        raise CorpusError(f"{folder}: cannot write the demo corpus: {error.strerror}; choose another folder") from error
    return len(rows)


def read_sentences() -> list[tuple[str, str]]:
    """Read the sentences of the package as pairs (text, normalized text)."""
    sentences = []
    for line in files("tts_prep.demo").joinpath("sentences.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            text, _, normalized = line.partition("|")
            sentences.append((text, normalized or text))
    return sentences


def _record(text: str, number: int) -> tuple[bytes, bytes]:
    """Synthesize a sentence; return its WAV file and its TextGrid."""
    waveform, sample_rate, phones = speak_with_phones(text, **MANNERS[number % len(MANNERS)]._asdict())
    wav = io.BytesIO()
    soundfile.write(wav, waveform, sample_rate, format="WAV", subtype="PCM_16")
    return wav.getvalue(), _textgrid(phones, len(waveform) / sample_rate).encode("utf-8")


def _textgrid(phones: list[tuple[float, str]], end: float) -> str:
    """Return phones as a TextGrid with one tier ``phones``."""
    bounds = [*phones, (end, "")]
    # Every recording starts with a pause. Empty intervals are dropped.
    times = [LabelledTime(0.0, bounds[0][0], "")]
    times += [LabelledTime(start, stop, name) for (start, name), (stop, _) in itertools.pairwise(bounds)]
    return textgrid({"phones": [time for time in times if time.start < time.end]}, end)


def _write_if_different(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    with replacing(path) as partial:
        partial.write_bytes(content)
