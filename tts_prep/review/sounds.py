"""The sound of an utterance as a WAV file: from the store, from the corpus, or estimated from the mel."""

import struct
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import NO_WAVEFORMS, ConfigurationError, CorpusError, StoreError
from tts_prep.format.files.child_process import ChildProcess, CrashedError, RefusedError
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset

_KEPT: Final = 16
"""The number of sounds that are kept in memory: a browser asks for a sound in several parts."""

_MAX_SECONDS: Final = 120.0
"""The maximum duration of a sound that is estimated from a mel."""

_CPU_SECONDS: Final = 60
_MEMORY: Final = 4 << 30
_NOTES: Final = {
    "store": "the samples of the store",
    "corpus": "the recording of the corpus, cleaned as for the store",
    "estimated": "estimated from the mel by Griffin and Lim's method, not the recording: it sounds metallic",
}


@dataclass(frozen=True, eq=False)
class Sound:
    """The sound of an utterance.

    Attributes:
        source: ``store``, ``corpus`` or ``estimated``.
        samples: [n_samples] int16, or float32.
        sample_rate: Hz.
    """

    source: str
    samples: npt.NDArray[Any]
    sample_rate: int

    @property
    def note(self) -> str:
        """Where the sound is from."""
        return _NOTES[self.source]

    def wav(self) -> bytes:
        """Return a WAV file with these samples, unchanged: 16-bit integers, or 32-bit floats."""
        is_float = self.samples.dtype != np.int16
        data = self.samples.astype("<f4" if is_float else "<i2").tobytes()
        size = 4 if is_float else 2
        layout = struct.pack(
            "<HHIIHH", 3 if is_float else 1, 1, self.sample_rate, self.sample_rate * size, size, 8 * size
        )
        body = b"WAVEfmt " + struct.pack("<I", len(layout)) + layout + b"data" + struct.pack("<I", len(data)) + data
        return b"RIFF" + struct.pack("<I", len(body)) + body

    def extremes(self, n: int) -> tuple[list[int], list[int]]:
        """Return the lowest and the highest sample of each of at most n blocks, in thousandths of full scale."""
        values = self.samples
        step = max(1, -(-len(values) // n))
        starts = np.arange(0, len(values), step)
        if not len(values):
            return [], []
        scale = 1000 / 32768 if values.dtype == np.int16 else 1000.0
        ends = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        low, high = (np.clip(np.nan_to_num(part * scale), -1000, 1000).round().astype(int).tolist() for part in ends)
        return low, high


class Sounds:
    """The sounds of a store.

    Args:
        dataset: all utterances of the store.
        corpus: the corpus that the store was made from, or None.
        root: the folder of relative audio paths, if the command that made the store was given one.

    Raises:
        ConfigurationError: the store was made by a reader of another package that is not installed.
        CorpusError: the corpus cannot be read.
    """

    def __init__(self, dataset: UtteranceDataset, corpus: Path | None = None, root: Path | None = None) -> None:
        self._dataset = dataset
        self._lock = threading.Lock()
        self._process = ChildProcess("tts_prep.review.sound_process:answer")
        self._kept: OrderedDict[int, Sound] = OrderedDict()
        self._configuration = read_manifest(dataset.path).configuration
        self._root = Path()
        self._rows: Mapping[str, dict[str, Any]] = {}
        if corpus is not None and not dataset.has_waveform:
            self._root, self._rows = _recordings(dataset.path, corpus, root)

    def close(self) -> None:
        """End the process that decodes."""
        self._process.end()

    def get(self, row: int) -> Sound:
        """Return the sound of a row.

        Raises:
            StoreError: there is none; the message says why.
        """
        with self._lock:
            if row not in self._kept:
                self._kept[row] = self._make(row)
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(row)
            return self._kept[row]

    def _make(self, row: int) -> Sound:
        utterance = self._dataset[row]
        rate = self._dataset.sample_rate
        if utterance.waveform is not None:
            return Sound("store", np.array(utterance.waveform), rate)
        found = self._rows.get(utterance.id)
        if found is not None:
            return Sound("corpus", self._ask(self._root, "recording", self._configuration, found), rate)
        if self._rows:
            raise StoreError("the corpus has no utterance of this id; is it the one that the store was made from?")
        if not self._dataset.n_mels:
            raise StoreError(NO_WAVEFORMS)
        if utterance.seconds > _MAX_SECONDS:
            raise StoreError(f"the store has no waveforms, and a mel of over {_MAX_SECONDS:.0f} s is not made audible")
        mel = np.asarray(utterance.mel, np.float32).tolist()
        return Sound("estimated", self._ask(self._dataset.path, "mel", self._configuration, mel), rate)

    def _ask(self, path: Path, *request: Any) -> npt.NDArray[np.float32]:
        """Return the samples that the other process decodes or estimates."""
        try:
            _, data = self._process.ask(path, *request, cpu_seconds=_CPU_SECONDS, memory=_MEMORY)
        except RefusedError as error:
            raise StoreError(str(error)) from None
        except CrashedError:
            raise StoreError("the recording crashes its decoder or takes too long to decode") from None
        return np.frombuffer(data, "<f4").astype(np.float32)


def _recordings(store: Path, corpus: Path, root: Path | None) -> tuple[Path, dict[str, dict[str, Any]]]:
    """Return the folder of recordings, and id → row of the corpus."""
    from tts_prep.format.records.failures import Failure
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.plan.planned_store import CorpusRows, stored_corrections

    configuration = Configuration.from_dict(store, read_manifest(store).configuration)
    if configuration.alignments is not None:
        raise ConfigurationError(
            f"{store}: its recordings are cut by alignments, so those of the corpus do not fit; omit --corpus"
        )
    rows = CorpusRows.read(configuration, corpus, root=root, corrections=stored_corrections(store))
    found = {row.id: asdict(row) for row in rows.items if not isinstance(row, Failure)}
    if not found:
        raise CorpusError(f"{corpus}: no utterance found; give the corpus that the store was made from")
    return rows.root.absolute(), found
