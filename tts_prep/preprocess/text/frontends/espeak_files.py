"""Where the espeak-ng library and its data lie: in the espeakng-loader package, which is under the GPL."""

from __future__ import annotations

import os
from pathlib import Path

from tts_prep.errors import ConfigurationError, MissingPackageError

# espeak-ng keeps this many bytes of the path; given a longer one, it ends the process from C.
_LONGEST_DATA_PATH = 159


def espeak_library() -> tuple[Path, Path]:
    """Return the path of the library and that of its data folder.

    Raises:
        ConfigurationError: the package is missing, or lies deeper than espeak-ng can follow.
    """
    try:
        import espeakng_loader
    except ImportError as error:
        raise MissingPackageError(f"espeak-ng needs the package espeakng-loader: {error}; install it") from None
    library = Path(espeakng_loader.get_library_path())
    # The package's own function for the folder raises RuntimeError where there is none.
    data = library.with_name("espeak-ng-data")
    length = len(os.fsencode(data))
    if length > _LONGEST_DATA_PATH:
        raise ConfigurationError(
            f"{data}: the path of espeak-ng's data has {length} bytes, it reads {_LONGEST_DATA_PATH} at most; "
            "make the virtual environment in a folder with a shorter path"
        )
    return library, data
