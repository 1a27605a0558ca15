"""Small synthetic corpora in the layouts of real ones, including their irregularities."""

from __future__ import annotations

import csv
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

SAMPLE_RATE = 22050
TEXTS = (
    "Printing, in the only sense with which we are at present concerned.",
    'He said "no", and left.',
    "It was 1843; the 2nd of May!",
    "Why not?",
    "The café — so he thought — was closed.",
    "A longer sentence, so that the lengths differ: one, two, three, four, five, six.",
    "Yes.",
)
KALDI = {
    "wav.scp": "u1 audio/a.wav\nu2 audio/b.wav\n",
    "text": "u1 One two.\nu2 Drei vier.\n",
    "utt2spk": "u1 anna\nu2 001\n",
    "spk2gender": "001 m\nanna f\n",
    "utt2lang": "u1 en-us\nu2 de\n",
    "utt2emotion": "u1 calm\n",
    "utt2dur": "u1 1.0\n",
}


def speech_like(seconds: float, seed: int, sample_rate: int = SAMPLE_RATE) -> np.ndarray:
    """Return a decaying harmonic sound with noise, [n_samples] float64 within ±0.6."""
    return _speech_like(seconds, seed, sample_rate).copy()


@functools.lru_cache(256)
def _speech_like(seconds: float, seed: int, sample_rate: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * sample_rate)) / sample_rate
    pitch = rng.uniform(90, 240)
    voice = sum(np.sin(2 * np.pi * pitch * k * t + rng.uniform(0, 6)) / k for k in range(1, 12))
    return 0.15 * voice * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * t)) + 0.005 * rng.standard_normal(len(t))


def write_ljspeech(root: Path, texts: tuple[str, ...] = TEXTS) -> Path:
    """Write a corpus in the layout of LJ Speech, with one recording per text, of different durations."""
    (root / "wavs").mkdir(parents=True)
    rows = []
    for number, text in enumerate(texts):
        name = f"S-{number:04d}"
        soundfile.write(root / "wavs" / f"{name}.wav", speech_like(0.2 + 0.11 * (number % 9), number), SAMPLE_RATE)
        rows.append(f"{name}|raw {text}|{text}\n")
    (root / "metadata.csv").write_text("".join(rows), encoding="utf-8")
    return root


SPEAKER_INFO = """\
ID  AGE  GENDER  ACCENTS  REGION COMMENTS
p225  23  F    English    Southern  England
p280  25  F    French   France  (mic2 files unavailable)
p315  18  M    American    New England (text and mic2 files unavailable)
p362  29  F    American
s5    22  M    British
"""


def record(path: Path, seconds: float = 0.3, sample_rate: int = 22050) -> None:
    """Write a recording, in the format of its suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # libsndfile does not know the suffix.
    opus = {"format": "OGG", "subtype": "OPUS"} if path.suffix == ".opus" else {}
    soundfile.write(path, speech_like(seconds, len(path.name), sample_rate), sample_rate, **opus)


def write_text(path: Path, text: str) -> None:
    """Write a text file and its parent folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_vctk(root: Path) -> Path:
    """Write release 0.92: two microphones, FLAC; p280 lacks the second one, p315 has no texts."""
    for name in ("p225_001", "p225_002", "p280_001", "p315_001", "p362_001", "s5_001"):
        speaker = name.split("_")[0]
        record(root / f"wav48_silence_trimmed/{speaker}/{name}_mic1.flac", sample_rate=48000)
        if speaker not in ("p280", "p315"):
            record(root / f"wav48_silence_trimmed/{speaker}/{name}_mic2.flac", sample_rate=48000)
        if speaker != "p315":
            write_text(root / f"txt/{speaker}/{name}.txt", f"Please call Stella {len(name)} times.\n")
    write_text(root / "wav48_silence_trimmed/log.txt", "")
    write_text(root / "speaker-info.txt", SPEAKER_INFO)
    return root


def write_vctk_080(root: Path) -> Path:
    """Write release 0.80: one microphone, WAV, speakers without their p in the table."""
    for name in ("p225_001", "p376_295"):
        record(root / f"wav48/{name[:4]}/{name}.wav", sample_rate=48000)
        write_text(root / f"txt/{name[:4]}/{name}.txt", " Ask her to bring these things. \n\n")
    table = "ID  AGE  GENDER  ACCENTS  REGION \n225  23  F    English    Southern  England\n376  22  M    Indian\n"
    write_text(root / "speaker-info.txt", table)
    return root


def write_libritts(root: Path) -> Path:
    """Write two subsets; a name in the table contains a tab, one text is only original, one is missing."""
    texts = {
        "train-clean-100/103/1241/103_1241_000000_000001": ('matthew Cuthbert is "surprised"', "Matthew"),
        "train-clean-100/103/1241/103_1241_000000_000002": (None, "In 1843."),
        "dev-clean/84/121123/84_121123_000007_000001": ("Maximilian.", "Maximilian."),
        "dev-clean/84/121123/84_121123_000008_000000": (None, None),
    }
    for stem, (normalized, original) in texts.items():
        record(root / f"{stem}.wav", sample_rate=24000)
        if normalized is not None:
            write_text(root / f"{stem}.normalized.txt", normalized)
        if original is not None:
            write_text(root / f"{stem}.original.txt", original)
    write_text(root / "train-clean-100/103/1241/103_1241.trans.tsv", "")
    table = "READER\tGENDER\tSUBSET\tNAME\n84\tF\tdev-clean\tChristie Nowak\n103\tF\ttrain-clean-100\tKaren\tSavage\n"
    write_text(root / "speakers.tsv", table)
    write_text(root / "NOTE.txt", "")
    return root


def write_kaldi(root: Path, files: Mapping[str, str]) -> Path:
    """Write a Kaldi data folder with the given files, and recordings a.wav and b.wav in ``audio``."""
    for name, seconds in (("a", 1.0), ("b", 0.5)):
        record(root / f"audio/{name}.wav", seconds)
    for name, text in files.items():
        write_text(root / name, text)
    return root


def write_table(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows in the form that the suffix names."""
    names = list(rows[0])
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="," if path.suffix == ".csv" else "\t")
            writer.writerows([names, *([("" if row[name] is None else row[name]) for name in names] for row in rows)])
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    return path
