"""Check the version of the format."""

from __future__ import annotations

from pathlib import Path

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.decoding import shown
from tts_prep.format.layout import OLDEST, VERSION, version_text


def check_version(where: Path | str, version: object) -> None:
    """Parse a version; this minor version of the known major version and any later one are accepted.

    Raises:
        StoreError: the version is older, or the major version is unknown.
        CorruptStoreError: it is not a version.
    """
    text = version if isinstance(version, str) else ""
    major, dot, minor = text.partition(".")
    if not (dot and major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit() and len(text) < 20):
        raise CorruptStoreError(f"{where}: expected a version like '{version_text()}', found {shown(version)}")
    if int(major) != VERSION[0] or int(minor) < OLDEST[1]:
        raise StoreError(
            f"{where}: format version {text}; this tts-prep reads {version_text(OLDEST)} and later {VERSION[0]}.x: "
            "install the release that made the store, or make the store again"
        )
