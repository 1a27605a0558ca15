"""Mutate recordings of every container and read them: ``python tests/fuzzing.py SEED COUNT``.

Each is read or refused with an `AudioError`; anything else ends the program with a traceback that names the mutation.
"""

from __future__ import annotations

import faulthandler
import json
import struct
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "preprocess"))

from memory import peak_memory
from recordings import CONTAINERS, PIPED, headerless_mp3, recording, samples

from tts_prep.containers.xiph import page_checksum
from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.reading import ReadingConfig, read_excerpt, read_waveform

NUMBERS = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 2**63, 2**64 - 1)
SUBTYPES = {
    "wav": ("FLOAT", "DOUBLE", "PCM_U8", "ULAW", "IMA_ADPCM", "MS_ADPCM", "GSM610", "G721_32"),
    "caf": ("ALAC_16", "ALAC_24", "PCM_24"),
    "aiff": ("FLOAT", "IMA_ADPCM", "DWVW_16"),
    "au": ("ULAW", "G723_40", "DOUBLE"),
    "flac": ("PCM_24", "PCM_S8"),
    "w64": ("IMA_ADPCM",),
    "nist": ("ALAW",),
}
SLOWEST = 5.0  # seconds
MOST_MEMORY = 512 << 20  # bytes over what the process had


def originals() -> list[bytes]:
    """Return complete recordings to mutate."""
    sound = samples(0.3)
    two = np.stack([sound, -sound], axis=1)
    found = [recording(name, sound) for name in CONTAINERS] + [recording(name, two) for name in CONTAINERS]
    found += [recording(name, sound, subtype) for name, subtypes in SUBTYPES.items() for subtype in subtypes]
    return [*found, *(make() for make in PIPED.values()), headerless_mp3()[0][:6000], headerless_mp3("VARIABLE")[0]]


def mutated(data: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Return a recording with one to six changes, three of four to its first 200 bytes."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 7))):
        reach = min(len(changed), 200) if rng.random() < 0.75 else len(changed)
        place = int(rng.integers(reach)) if reach else 0
        kind = int(rng.integers(8))
        if kind == 0 and reach:
            changed[place] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            number = NUMBERS[int(rng.integers(len(NUMBERS)))]
            width = int(rng.choice([1, 2, 4, 8]))
            order = "little" if rng.random() < 0.5 else "big"
            changed[place : place + width] = (number % (1 << 8 * width)).to_bytes(width, order)  # type: ignore[arg-type]
        elif kind == 2:
            changed[place : place + int(rng.integers(1, 40))] = rng.bytes(int(rng.integers(40)))
        elif kind == 3:
            del changed[place : place + int(rng.integers(1, 300))]
        elif kind == 4:
            changed[place:place] = changed[place : place + int(rng.integers(1, 300))]
        elif kind == 5 and rng.random() < 0.3:
            del changed[int(rng.integers(len(changed) + 1)) :]
        elif kind == 6 and rng.random() < 0.3:
            other = others[int(rng.integers(len(others)))]
            changed[int(rng.integers(len(changed) + 1)) :] = other[int(rng.integers(len(other))) :]
        elif kind == 7:
            small = struct.pack(str(rng.choice(["<I", ">I"])), int(rng.integers(2 ** int(rng.integers(1, 33)))))
            changed[place : place + 4] = small
    return sealed(bytes(changed)) if rng.random() < 0.7 else bytes(changed)


def sealed(data: bytes) -> bytes:
    """Correct the checksums of an Ogg file's pages, so that their contents are read."""
    changed, position = bytearray(data), 0
    while data[position : position + 4] == b"OggS" and len(data) > position + 27:
        body = position + 27 + data[position + 26]
        end = body + sum(data[position + 27 : body])
        changed[position + 22 : position + 26] = struct.pack("<I", page_checksum(bytes(changed[position:end])))
        position = end
    return bytes(changed)


def main(seed: int, count: int) -> dict[str, float]:
    """Read mutated recordings; return counts, the maximum time and the memory."""
    others = originals()
    before = peak_memory()
    read = refused = 0
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            path.write_bytes(mutated(others[int(rng.integers(len(others)))], others, rng))
            config = ReadingConfig(str(rng.choice(["first", "mean"])))
            rate = int(rng.choice([22_050, 24_000]))
            faulthandler.dump_traceback_later(60, exit=True)
            start = time.process_time()
            try:
                waveform = read_waveform(path, rate, config)
                if not np.isfinite(waveform).all():
                    raise AssertionError("the samples are not finite")
                read_excerpt(path, rate, 100, 900, config)
                read += 1
            except AudioError as error:
                if "\n" in str(error) or len(str(error)) > 400:
                    raise AssertionError(f"mutation {seed}, {number}: {error}") from error
                refused += 1
            except BaseException as error:
                raise AssertionError(f"mutation {seed}, {number}: {error!r}") from error
            slowest = max(slowest, time.process_time() - start)
            if slowest > SLOWEST:
                raise AssertionError(f"mutation {seed}, {number}: {slowest:.1f} s")
    faulthandler.cancel_dump_traceback_later()
    grown = peak_memory() - before
    if grown > MOST_MEMORY:
        raise AssertionError(f"seed {seed}: {grown:,} bytes more memory at its highest")
    return {"read": read, "refused": refused, "slowest": slowest, "memory": grown}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
