"""What the data comes from besides the settings: versions of libraries, and what the processor does differently."""

from __future__ import annotations

import importlib.metadata
import os
import platform

import h5py

from tts_prep import __version__

# What reads, resamples and transforms; numba compiles the kernels.
_PACKAGES = ("numpy", "scipy", "librosa", "numba", "soundfile", "soxr")

FUSED_MULTIPLY_ADD = "fused multiply-add"


def fused_multiply_add() -> str:
    """Return ``yes`` where the mel kernel is compiled for a processor that rounds a·b + c once, ``no`` where twice.

    Mels differ by it: one value in ten or so, by up to 1e-6. The environment variables are those by which numba is told
    to compile for another processor.
    """
    features, name = os.environ.get("NUMBA_CPU_FEATURES"), os.environ.get("NUMBA_CPU_NAME")
    if platform.machine().lower() in ("aarch64", "arm64"):
        return "yes"
    if features is not None:
        return "yes" if "+fma" in features.split(",") else "no"
    if name == "generic":
        return "no"
    import llvmlite.binding

    return "yes" if llvmlite.binding.get_host_cpu_features().get("fma") else "no"


def software_versions() -> dict[str, str]:
    """Return name → version of this package and of the libraries that compute audio and write files."""
    import soundfile

    versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {
        "tts-prep": __version__,
        FUSED_MULTIPLY_ADD: fused_multiply_add(),
        **versions,
        "libsndfile": soundfile.__libsndfile_version__,
        "hdf5": h5py.version.hdf5_version,
    }
