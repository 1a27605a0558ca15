"""The mel spectrograms of a store: a recording becomes the mel that the store would have."""

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AudioError, ConfigurationError
from tts_prep.inference.manifests import manifest_of
from tts_prep.preprocess.audio.mel import Mel, MelExtractor
from tts_prep.preprocess.audio.reading import prepared, read_samples
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.make.examples import stored_mel
from tts_prep.preprocess.make.recordings import cleaned, keeps_16_bits


class StoreMel:
    """Makes the mels of recordings as those of a store were made; made by `mel_of`.

    Attributes:
        sample_rate: Hz.
        hop_length: samples between two frames.
        n_mels: the number of bins.
    """

    def __init__(self, config: Configuration, dtype: str, offset: float) -> None:
        self._config, self._dtype, self._offset = config, dtype, offset
        self._extractor = MelExtractor(config.mel)
        self.sample_rate = config.mel.sample_rate
        self.hop_length = config.mel.hop_length
        self.n_mels = config.mel.n_mels

    def __repr__(self) -> str:
        return f"<StoreMel: {self.sample_rate:,} Hz, {self.n_mels} mel bins>"

    def __call__(self, recording: str | os.PathLike[str]) -> Mel:
        """Return the mel of a recording in a file, [n_frames, n_mels] float32, as the loader returns that of a row.

        Channels, resampling, cleaning, level and framing are those of the store.

        Raises:
            AudioError: the recording is not usable, as in a run.
        """
        path, config = Path(recording), self._config
        samples = read_samples(path, self.sample_rate, config.reading, keeps_16_bits=keeps_16_bits(config.cleaning))
        return self._mel(samples, path.name)

    def of_waveform(self, waveform: npt.ArrayLike, sample_rate: int) -> Mel:
        """Return the mel of a waveform, [n_frames, n_mels] float32.

        Args:
            waveform: [n_samples] of one channel, full scale ±1; int16 samples are divided by 32,768.
            sample_rate: Hz; the waveform is resampled, clipped and scaled as the store's recordings were.

        Raises:
            AudioError: it has more than one axis, no samples, or NaN or infinite ones.
        """
        samples = np.asarray(waveform)
        if samples.ndim != 1 or not len(samples):
            raise AudioError(f"waveform: expected [n_samples] of one channel, found the shape {list(samples.shape)}")
        if samples.dtype == np.int16:
            samples = samples / np.float32(32768)
        samples = np.ascontiguousarray(samples, np.float32)
        if not np.isfinite(samples).all():
            raise AudioError("waveform: holds NaN or infinite samples")
        return self._mel(prepared(samples, sample_rate, self.sample_rate, self._config.reading), "waveform")

    def _mel(self, samples: npt.NDArray[np.float32] | npt.NDArray[np.int16], name: str) -> Mel:
        config = self._config
        recording = cleaned(samples, config, name)
        mel = stored_mel(self._extractor(recording.waveform), self._dtype, self._offset)
        return mel.astype(np.float32) + np.float32(self._offset) if mel.dtype != np.float32 else mel


def mel_of(store: str | os.PathLike[str]) -> StoreMel:
    """Return what makes the mels of a store: for reference clips, and to check a vocoder.

    With the versions of libraries that the store was made with, mels are equal to the stored ones bit by bit; with
    others they differ by some 1e-6.

    Example:
        >>> from tts_prep.inference import mel_of
        >>> mel = mel_of("store")
        >>> mel.sample_rate, mel("LJSpeech-1.1/wavs/DEMO-0001.wav").dtype
        (22050, dtype('float32'))

    Args:
        store: the folder of the store, or its ``manifest.json`` alone, under any name.

    Raises:
        ConfigurationError: recordings of the store were cut by their alignments, which a new one has not.
        StoreError: there is no manifest, or it violates ``docs/format.md``.
    """
    manifest, where = manifest_of(store), Path(store)
    config = Configuration.from_dict(where, manifest.configuration)
    cut = config.alignments and (config.alignments["silences"] == "cut" or config.alignments["surplus"] == "cut")
    if cut:
        raise ConfigurationError(
            f"{where}: its recordings were cut by their alignments, which another recording does not have; cut it "
            "yourself, and use tts_prep.preprocess.mel_spectrogram with the store's preset"
        )
    spec = manifest.arrays["mel"]
    return StoreMel(config, spec["dtype"], float(spec.get("offset", 0.0)))
