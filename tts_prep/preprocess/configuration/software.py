"""Inputs of the data other than settings: versions of libraries, and differences of processors."""

import os
import platform
from collections.abc import Mapping
from functools import cache

import h5py

from tts_prep import __version__

# The libraries that read, resample and transform audio; numba compiles the kernels.
_PACKAGES = ("numpy", "scipy", "librosa", "numba", "soundfile", "soxr")

FUSED_MULTIPLY_ADD = "fused multiply-add"

# Libraries and data that are installed with another package, and the name of that package.
_INSTALLED_WITH = {"libsndfile": "soundfile", "hdf5": "h5py", "espeak-ng": "espeakng-loader", "heteronyms": "tts-prep"}


def install_line(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return the command that installs the versions that a store was made with, or an empty string if none does.

    Args:
        old, new: name → version, by `software_versions` and the frontends.
    """
    differ = {name: version for name, version in old.items() if new.get(name) != version}
    if FUSED_MULTIPLY_ADD in differ:
        return ""
    packages = [f"{name}=={version}" for name, version in differ.items() if name not in _INSTALLED_WITH]
    steps = [f"pip install {' '.join(packages)}"] if packages else []
    # The version of the package that contains them is unknown.
    steps += [
        f"a version of {_INSTALLED_WITH[name]} with {name} {differ[name]}" for name in _INSTALLED_WITH if name in differ
    ]
    return f"to continue with the same versions: {', '.join(steps)}" if steps else ""


def fused_multiply_add() -> str:
    """Return ``yes`` if the mel kernel is compiled with fused multiply-add (a·b + c with one rounding), else ``no``.

    It changes about one mel value in ten, by up to 1e-6. The environment variables below make numba compile for another
    processor.
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


@cache
def _versions_of_packages() -> Mapping[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in _PACKAGES}


def software_versions() -> dict[str, str]:
    """Return the versions of this package and of the libraries that compute audio and write files, by name."""
    import soundfile

    return {
        "tts-prep": __version__,
        FUSED_MULTIPLY_ADD: fused_multiply_add(),
        **_versions_of_packages(),
        "libsndfile": soundfile.__libsndfile_version__,
        "hdf5": h5py.version.hdf5_version,
    }
