"""Writing of the demo corpus: a few minutes of synthetic speech in the layout of LJ Speech."""

import io
import itertools
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import soundfile

from tts_prep.demo.speech import speak_with_phones
from tts_prep.errors import CorpusError
from tts_prep.export.alignments import LabelledTime, textgrid
from tts_prep.format.files.atomic import replacing


class Manner(NamedTuple):
    """A voice with rate and pitch; arguments of `tts_prep.demo.speech.speak`."""

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


_BREATH = 0.15
"""The duration of quiet room at both ends of a recording in seconds: espeak-ng begins and ends abruptly."""

_ROOM = 54
"""The noise of the room is the sum of three whole numbers from -54 to 54: nearly Gaussian, 56 dB below full scale.

WADA-SNR tells ratios above some 40 dB apart no longer: with a quieter room, more recordings are at its maximum.
"""

_GAP = 0.1
"""The duration of the planted gap in seconds."""

_NOISE_DB = 4.0
"""The level of the speech relative to the planted noise in dB."""

Samples = npt.NDArray[np.int64]


def make_demo_corpus(folder: Path) -> int:
    """Write ``metadata.csv``, ``wavs/`` and ``TextGrid/`` to a folder; return the number of utterances.

    The folder is created if necessary. A row is ``id|text|normalized text``, without quoting; a recording is mono
    16-bit PCM at 22,050 Hz, with the noise of a quiet room. Three recordings have a planted fault each, see `FAULTS`.
    The TextGrids have the times of phones that espeak-ng reports during synthesis. Output is deterministic, and files
    with the correct contents are not rewritten.

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
    n_breath = round(_BREATH * sample_rate)
    rng = np.random.default_rng(number)
    samples = np.pad(waveform.astype(np.int64), n_breath)
    # Whole numbers, so that the bytes are the same on every machine.
    samples += rng.integers(-_ROOM, _ROOM + 1, (3, len(samples))).sum(axis=0)
    if number in FAULTS:
        samples = FAULTS[number](samples, sample_rate)
    wav = io.BytesIO()
    recording = np.clip(samples, -32767, 32767).astype(np.int16)
    soundfile.write(wav, recording, sample_rate, format="WAV", subtype="PCM_16")
    start = n_breath / sample_rate
    said = [(start + time, name) for time, name in phones]
    spoken = start + len(waveform) / sample_rate
    return wav.getvalue(), _textgrid(said, spoken, len(recording) / sample_rate).encode("utf-8")


def _overdriven(samples: Samples, _: int) -> Samples:
    """Return a recording whose input was set too high: 12 dB above full scale."""
    loud: Samples = 4 * 32768 * samples // np.abs(samples).max()
    return loud


def _interrupted(samples: Samples, sample_rate: int) -> Samples:
    """Return a recording of which a part in the middle was lost."""
    middle, half = len(samples) // 2, round(_GAP * sample_rate / 2)
    samples[middle - half : middle + half] = 0
    return samples


def _noisy(samples: Samples, _: int) -> Samples:
    """Return a recording with loud noise."""
    samples = samples // 4
    most = int(np.sqrt(np.mean(samples**2)) * 10 ** (-_NOISE_DB / 20))
    noise: Samples = np.random.default_rng(0).integers(-most, most + 1, (3, len(samples))).sum(axis=0)
    return samples + noise


FAULTS: Final = {9: _overdriven, 19: _interrupted, 29: _noisy}
"""The planted faults by number of the recording, from 0: ``clipped``, ``digital-silence`` and ``noisy``."""


def _textgrid(phones: list[tuple[float, str]], spoken: float, end: float) -> str:
    """Return phones as a TextGrid with one tier ``phones``.

    Args:
        phones: the start of each phone in seconds, and its name.
        spoken: the end of the last phone in seconds.
        end: the duration of the recording in seconds.
    """
    bounds = [*phones, (spoken, ""), (end, "")]
    # Every recording starts with a pause. Empty intervals are dropped.
    times = [LabelledTime(0.0, bounds[0][0], "")]
    times += [LabelledTime(start, stop, name) for (start, name), (stop, _) in itertools.pairwise(bounds)]
    return textgrid({"phones": [time for time in times if time.start < time.end]}, end)


def _write_if_different(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    with replacing(path) as partial:
        partial.write_bytes(content)
