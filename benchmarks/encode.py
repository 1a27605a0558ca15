"""Write the recordings of a corpus in LJ Speech's layout at another rate or in another format.

    python benchmarks/encode.py CORPUS FOLDER 44100|flac|mp3|opus

44100 is 16-bit WAV, resampled; FLAC and MP3 stay at the corpus's rate; Opus, which has no 22,050 Hz, is at 24,000.
``list.txt`` has one ``path|text`` a line. A folder that is complete is kept.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import soundfile
import soxr

# suffix, format, subtype, rate (None for the recording's own)
FORMATS: dict[str, tuple[str, str, str, int | None]] = {
    "44100": ("wav", "WAV", "PCM_16", 44_100),
    "flac": ("flac", "FLAC", "PCM_16", None),
    "mp3": ("mp3", "MP3", "MPEG_LAYER_III", None),
    "opus": ("opus", "OGG", "OPUS", 24_000),
}


def encode(name: str, corpus: Path, folder: Path, recordings: str) -> None:
    suffix, container, subtype, wanted = FORMATS[recordings]
    path = folder / "wavs" / f"{name}.{suffix}"
    samples, rate = soundfile.read(corpus / "wavs" / f"{name}.wav", dtype="float32")
    if wanted:
        samples, rate = soxr.resample(samples, rate, wanted), wanted
    soundfile.write(path, samples, rate, format=container, subtype=subtype)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("recordings", choices=FORMATS)
    options = parser.parse_args()
    corpus, folder = options.corpus, options.folder
    if (folder / "list.txt").exists():
        return
    (folder / "wavs").mkdir(parents=True, exist_ok=True)
    metadata = (corpus / "metadata.csv").read_text(encoding="utf-8")
    rows = [line.split("|") for line in metadata.splitlines()]
    with ProcessPoolExecutor() as pool:
        make = partial(encode, corpus=corpus, folder=folder, recordings=options.recordings)
        for _ in pool.map(make, [row[0] for row in rows], chunksize=64):
            pass
    (folder / "metadata.csv").write_text(metadata, encoding="utf-8")
    suffix = FORMATS[options.recordings][0]
    lines = [f"wavs/{row[0]}.{suffix}|{row[-1]}\n" for row in rows]
    (folder / "list.txt").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
