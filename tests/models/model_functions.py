"""Functions and classes that tests add to stores, in a module that worker processes can import."""

from __future__ import annotations

import asyncio
import contextlib
import locale
import os
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from tts_prep.preprocess import ArraySpec

BAD = "S-0003"
"""The utterance on which the faulty functions fail in one way."""


def loudness(waveforms):
    """Return the root mean square of each waveform, computed of a padded batch as a model would."""
    longest = max(map(len, waveforms))
    padded = np.stack([np.pad(waveform, (0, longest - len(waveform))) for waveform in waveforms])
    lengths = np.array([len(waveform) for waveform in waveforms])
    return list(np.sqrt((padded.astype(np.float64) ** 2).sum(axis=1) / lengths).astype(np.float32))


def lengths(waveforms, sample_rate):
    return [np.array([len(waveform), sample_rate], np.int32) for waveform in waveforms]


def noted(waveforms, ids, texts, phonemes, speakers, seconds, folder="", unknown=None):
    """Return the number of characters; `unknown` is nothing that a store has."""
    assert unknown is None
    assert len(ids) == len(texts) == len(waveforms) == len(phonemes) == len(speakers) == len(seconds)
    return [np.array([len(text), len(of), len(waveforms)], np.int32) for text, of in zip(texts, phonemes, strict=True)]


class Codes:
    """Tokens of 10 ms of audio, a vector, a number and a text, of a model that is created with settings.

    Args:
        levels: the number of tokens.
        log: a file to which every created model appends its process and device.
    """

    sample_rate = 8000
    batch_seconds = 2.0
    weights = "none, it is a formula"
    software = ("numpy",)

    def __init__(self, levels: int = 64, log: str = "", device: str = "cpu") -> None:
        self.levels, self.device = levels, device
        self.arrays = (
            ArraySpec("codes", "int16", (2,), "own", rate=100.0),
            ArraySpec("vector", "float32", (3,), "utterance"),
        )
        self.columns = {"peak": float, "transcript": str}
        if log:
            with Path(log).open("a") as file:
                file.write(f"{os.getpid()} {device}\n")

    def __call__(self, waveforms, texts):
        return {
            "codes": [self.codes(waveform) for waveform in waveforms],
            "vector": [np.array([w.mean(), w.std(), np.abs(w).max()], np.float32) for w in waveforms],
            "peak": [float(np.abs(waveform).max()) for waveform in waveforms],
            "transcript": [text.upper() for text in texts],
        }

    def codes(self, waveform):
        frames = waveform[: len(waveform) // 80 * 80].reshape(-1, 80)
        first = np.abs(frames).mean(axis=1)
        return np.stack([(first * 1000) % self.levels, (frames[:, 0] * 100) % self.levels], axis=1).astype(np.int16)


class Logged:
    """Tokens, a number and a text of each utterance, computed of it alone; one utterance has none.

    Args:
        log: a file to which the ids of each batch are appended.
    """

    def __init__(self, log: str) -> None:
        self.log = Path(log)
        self.arrays = (ArraySpec("tokens", "int16", (), "own"), ArraySpec("first", "float32", (2,), "utterance"))
        self.columns = {"level": float, "note": str}

    def __call__(self, waveforms, ids):
        with self.log.open("a") as file:
            file.write(f"{' '.join(ids)}\n")
        tokens = [(of[::50] * 99).astype(np.int16) for of in waveforms]
        return {
            "tokens": [None if uid == BAD else of for uid, of in zip(ids, tokens, strict=True)],
            "first": [of[100:102].astype(np.float32) for of in waveforms],
            "level": [float(np.abs(of).max()) for of in waveforms],
            "note": [f"of {uid}" for uid in ids],
        }


class Faulty:
    """Codes that fail for some utterances, in ways that a setting names.

    Args:
        how: the way in which it fails for `BAD`, or ``ID=WAY`` for each utterance, separated by commas.
        mark: a file of the number of each process in which it hangs.
    """

    batch_seconds = 60.0

    def __init__(self, how: str, mark: str = "") -> None:
        self.mark = mark
        self.ways = dict(one.split("=") for one in how.split(",")) if "=" in how else {BAD: how}
        self.arrays = (ArraySpec("codes", "float32", (), "own"),)

    def __call__(self, waveforms, ids):
        values = [np.abs(waveform[::100]) for waveform in waveforms]
        ways = {self.ways[uid] for uid in ids if uid in self.ways}
        if "raises" in ways:
            raise RuntimeError("no such thing\nas this")
        if "hangs" in ways:
            with open(self.mark, "a") as file:
                file.write(f"{os.getpid()}\n")
            time.sleep(1000)
        if "dies" in ways:
            os.kill(os.getpid(), signal.SIGKILL)
        if "exits" in ways:
            os._exit(3)
        if "calls sys.exit" in ways:
            raise SystemExit("no licence")
        if "raises no Exception" in ways:
            raise asyncio.CancelledError
        if "recurses" in ways:
            self(waveforms, ids)
        for at, way in ((ids.index(uid), way) for uid, way in self.ways.items() if uid in ids):
            wrong = {
                "wrong dtype": values[at].astype(np.float64),
                "not finite": np.where(values[at] > 0, np.nan, values[at]).astype(np.float32),
                "wrong shape": np.zeros((3, 2), np.float32),
                "no value": None,
                "text": "text",
            }
            values[at] = wrong.get(way, values[at])
        return values[:-1] if "too few values" in ways else values


class Disturbing:
    """The loudness of each utterance, of a model that changes its process while it is created and called.

    Args:
        folder: the working folder that it changes to.
    """

    arrays = (ArraySpec("rms", "float32", (), "utterance"),)
    batch_seconds = 0.1

    def __init__(self, folder: str) -> None:
        os.chdir(folder)
        self.folder, self.buffer = os.getcwd(), np.zeros(1, np.float32)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        locale.setlocale(locale.LC_ALL, "C")
        np.seterr(all="raise")
        threading.Thread(target=time.sleep, args=(1000,)).start()

    def __call__(self, waveforms):
        # They are closed since the first call.
        with contextlib.suppress(OSError):
            os.write(1, b"\xff\0\x1b")
            print("text of a model", flush=True)
        for number in range(3):
            with contextlib.suppress(OSError):
                os.close(number)
        assert os.getcwd() == self.folder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            is_forked = os.fork() == 0
        # The forked process returns, too, and its value is that of no utterance.
        self.buffer[:] = 99 if is_forked else loudness(waveforms)
        return self.buffer


class Differing(Codes):
    """Codes of another rate in each process."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.sample_rate = 8000 + int(device)


class Unloadable:
    """A class that cannot be created."""

    def __init__(self) -> None:
        raise FileNotFoundError("weights.pt")


class NeverLoaded(Codes):
    """A class whose creation does not end."""

    def __init__(self) -> None:
        time.sleep(1000)


class Undeclared:
    """A class that says of no output what it is."""

    arrays = ()

    def __call__(self, waveforms):
        return waveforms


class Slow(Codes):
    """Codes that take some time, for kills."""

    batch_seconds = 0.1

    def __call__(self, waveforms, texts):
        time.sleep(0.05)
        return super().__call__(waveforms, texts)


class DiesAtFirst(Codes):
    """Codes whose first processes are killed while they load.

    Args:
        folder: where each of them leaves a file.
        times: how many.
    """

    def __init__(self, folder: str, times: int) -> None:
        super().__init__()
        found = len(list(Path(folder).glob("died-*")))
        if found < times:
            Path(folder, f"died-{found}").touch()
            os.kill(os.getpid(), signal.SIGKILL)


class Padded:
    """Codes of 10 ms of audio of a whole batch in one array, as networks return them.

    Args:
        form: what is returned: the ``array`` alone, a ``list`` of its rows, a ``pair`` with its lengths, or a ``dict``.
    """

    sample_rate = 8000
    batch_seconds = 60.0
    arrays = (ArraySpec("codes", "int16", (2,), "own", rate=100.0),)

    def __init__(self, form: str) -> None:
        self.form, self.codes = form, Codes().codes

    def __call__(self, waveforms):
        longest = max(map(len, waveforms))
        padded = np.stack([self.codes(np.pad(waveform, (0, longest - len(waveform)))) for waveform in waveforms])
        lengths = np.array([len(waveform) // 80 for waveform in waveforms])
        results = {"list": list(padded), "pair": (padded, lengths), "dict": {"codes": padded, "codes_lengths": lengths}}
        return results.get(self.form, padded)
