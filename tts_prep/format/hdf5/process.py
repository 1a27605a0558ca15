"""Find the datasets of HDF5 files in a separate process; see `tts_prep.format.files.child_process`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tts_prep.errors import CorruptStoreError, broken
from tts_prep.format.hdf5.datasets import Location, Locations

_FUNCTION = "tts_prep.format.hdf5.reader:locations_as_json"


@contextmanager
def hdf5_process() -> Iterator[Callable[[Path], Locations]]:
    """Yield a function that finds the datasets of an HDF5 file in another process, which ends with the block.

    The function raises a `CorruptStoreError` like `tts_prep.format.hdf5.reader.read_locations`, and also if the file
    crashes HDF5 or takes more than four seconds of processor time; and a `CannotReadError` if the process cannot be
    started, or was killed from outside.

    Raises:
        StoreError: the system is Windows, which cannot limit the process.
    """
    # Imported with the first file that is not of this run.
    from tts_prep.format.files.child_process import CrashedError, RefusedError, child_process

    with child_process(_FUNCTION) as process:

        def find(path: Path) -> Locations:
            try:
                datasets, _ = process.ask(path)
            except RefusedError as error:
                raise CorruptStoreError(str(error)) from None
            except CrashedError:
                raise broken(f"{path}: crashes the HDF5 library or takes too long to read") from None
            return {
                name: Location(offset, tuple(shape), np.dtype(dtype))
                for name, (offset, shape, dtype) in datasets.items()
            }

        yield find
