"""The paths of the espeak-ng library and its data, in the espeakng-loader package, which is under the GPL."""

from __future__ import annotations

import os
from pathlib import Path

from tts_prep.errors import ConfigurationError, MissingPackageError

# espeak-ng's limit in bytes; with a longer path, it ends the process.
_LONGEST_DATA_PATH = 159


def espeak_library() -> tuple[Path, Path]:
    """Return the paths of the library and of its data folder.

    Raises:
        ConfigurationError: the path is too long for espeak-ng.
        MissingPackageError: the package is not installed.
    """
    try:
        import espeakng_loader
    except ImportError as error:
        raise MissingPackageError(f"espeak-ng needs the package espeakng-loader: {error}; install it") from None
    library = Path(espeakng_loader.get_library_path())
    # The package's function for the data folder raises RuntimeError if it is missing.
    data = library.with_name("espeak-ng-data")
    length = len(os.fsencode(data))
    if length > _LONGEST_DATA_PATH:
        raise ConfigurationError(
            f"{data}: the path of espeak-ng's data has {length} bytes, the maximum is {_LONGEST_DATA_PATH}; "
            "create the virtual environment in a folder with a shorter path"
        )
    return library, data
