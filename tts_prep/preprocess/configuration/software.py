"""Versions of the libraries whose code the data comes from."""

from __future__ import annotations

import importlib.metadata

import h5py

from tts_prep import __version__

# What reads, resamples and transforms; numba compiles the kernels.
_PACKAGES = ("numpy", "scipy", "librosa", "numba", "soundfile", "soxr")


def software_versions() -> dict[str, str]:
    """Return name → version of this package and of the libraries that compute audio and write files."""
    import soundfile

    versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {
        "tts-prep": __version__,
        **versions,
        "libsndfile": soundfile.__libsndfile_version__,
        "hdf5": h5py.version.hdf5_version,
    }
