"""The manifest that a model is served with: of a store, or a copy of it beside a checkpoint."""

import os
from pathlib import Path

from tts_prep.errors import StoreError
from tts_prep.format.files.paths import is_url, read_regular, without_secret
from tts_prep.format.records.manifest import LONGEST_MANIFEST, Manifest, parse_manifest, read_manifest


def manifest_of(store: str | os.PathLike[str]) -> Manifest:
    """Read the manifest of a store, or a manifest in a file of any name.

    Raises:
        StoreError: there is neither, or the file cannot be read.
        CorruptStoreError: the manifest violates ``docs/format.md``.
    """
    if is_url(os.fspath(store)):
        where = without_secret(os.fspath(store))
        raise StoreError(f"{where}: a URL; download its manifest.json, and give that file")
    path = Path(store)
    if not path.is_file():
        return read_manifest(path)
    try:
        text = read_regular(path, LONGEST_MANIFEST).decode("utf-8")
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError:
        raise StoreError(f"{path}: expected the manifest.json of a store, found no text") from None
    return parse_manifest(path, text)
