"""What the separate process of `tts_prep.review.sounds` does: decoding recordings, and making mels audible."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import MissingPackageError, StoreError, TtsPrepError


def answer(path: Path, kind: str, configuration: Mapping[str, Any], value: Any) -> tuple[int, bytes]:
    """Return the number of samples, and the samples as 32-bit floats.

    Args:
        path: the folder of recordings, or the store.
        kind: ``recording`` or ``mel``.
        configuration: the store's.
        value: the row of the corpus, or the mel.

    Raises:
        TtsPrepError: there is no sound; the message says why.
    """
    try:
        from tts_prep.preprocess.configuration.records import Configuration

        config = Configuration.from_dict(path, configuration)
        samples = _recording(path, config, value) if kind == "recording" else _audible(config, value)
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"this needs {error.name}, which is not installed: pip install 'tts-prep[prepare]'"
        ) from error
    except TtsPrepError:
        raise
    except Exception as error:
        what = " ".join(str(error).split())[:200]
        raise StoreError(f"no sound can be made of it ({type(error).__name__}: {what})") from error
    return len(samples), np.ascontiguousarray(samples, "<f4").tobytes()


def _recording(root: Path, config: Any, row: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return a recording of the corpus, cleaned as for the store."""
    from tts_prep.preprocess.make.recordings import read_recording
    from tts_prep.preprocess.plan.shard_settings import ShardRecipe
    from tts_prep.preprocess.source_utterance import SourceUtterance

    # What concerns texts and arrays is left out: only the recording is read.
    recipe = ShardRecipe(root, config, {}, {}, {})
    return read_recording(SourceUtterance(**row), recipe).waveform


def _audible(config: Any, mel: Any) -> npt.NDArray[Any]:
    """Return a waveform whose mel is about the given one."""
    from tts_prep.signals.processor import AudioProcessor

    return AudioProcessor(config.mel).to_waveform(mel)
