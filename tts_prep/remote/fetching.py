"""Download a whole store into a folder."""

import shutil
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from tts_prep.errors import ConfigurationError, WriteError
from tts_prep.format.files.atomic import replacing
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.files.lock import locked
from tts_prep.format.layout import LOCK, MANIFEST, PARTIAL_SUFFIX
from tts_prep.format.records.manifest import FileEntry, Manifest, parse_manifest
from tts_prep.progress import Progress, ShowProgress, in_notebooks
from tts_prep.quantities import bytes_text
from tts_prep.remote.server import THREADS, Server
from tts_prep.remote.transfer import Patience
from tts_prep.remote.written_once import allocated, has_size, written_once


@dataclass(frozen=True)
class Fetched:
    """What a download has done.

    Attributes:
        manifest: the manifest of the store.
        downloaded: the bytes of files that were downloaded.
        kept: the bytes of files that were there already.
    """

    manifest: Manifest
    downloaded: int
    kept: int


def fetch_store(
    url: str, folder: Path, progress: ShowProgress = in_notebooks, patience: Patience = Patience()
) -> Fetched:
    """Download the store behind a URL into a folder, each file checked, and the manifest last.

    Files that are there and intact, as after an interrupted download, are kept.

    Args:
        url: see `Server`.
        folder: a new or empty folder, or one in which this was interrupted.
        progress: called with the number of utterances that are here.

    Raises:
        ConfigurationError: the folder has another store or other files.
        StoreInUseError: another process writes to the folder.
        StoreError: there is no store, or it cannot be read or written.
        WriteError: the disk has no room for it.
    """
    server = Server(url, patience)
    data = server.manifest()
    manifest = parse_manifest(f"{server.shown}/{MANIFEST}", data.decode())
    _check_folder(folder, data, manifest)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"{folder}: cannot be made ({error.strerror}); give another folder") from error
    with locked(folder) as lock:
        _check_disk(folder, manifest)
        lock.begun = True
        kept = _fetch_files(server, folder, manifest, progress)
        if not (folder / MANIFEST).exists():
            with replacing(folder / MANIFEST) as partial:
                partial.write_bytes(data)
    size = sum(entry.size for entry in manifest.files)
    return Fetched(manifest, size - kept, kept)


def _check_folder(folder: Path, data: bytes, manifest: Manifest) -> None:
    """Check that a folder has nothing but this store, or a part of it."""
    if not folder.exists():
        return
    if (folder / MANIFEST).exists():
        if (folder / MANIFEST).read_bytes() != data:
            raise ConfigurationError(f"{folder}: has another store, or another version of it; give a new folder")
        return
    first = {LOCK, *(entry.file.partition("/")[0] for entry in manifest.files)}
    others = [path.name for path in folder.iterdir() if path.name not in first and path.suffix != PARTIAL_SUFFIX]
    if others:
        raise ConfigurationError(f"{folder}: not empty, it has '{others[0]}'; give a new folder")


def _check_disk(folder: Path, manifest: Manifest) -> None:
    """Check that the disk has room for the files that are not here."""
    missing = [entry for entry in manifest.files if not has_size(folder / entry.file, entry.size)]
    partial = [folder / f"{entry.file}{PARTIAL_SUFFIX}" for entry in missing]
    needed = sum(entry.size for entry in missing) - sum(allocated(path.stat()) for path in partial if path.is_file())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise WriteError(
            f"{folder}: the disk has {bytes_text(free)} left, the download needs {bytes_text(needed)}; give a folder "
            "on another disk, or train from the URL with a cache of limited size"
        )


def _fetch_files(server: Server, folder: Path, manifest: Manifest, progress: ShowProgress) -> int:
    """Download the files of a store; return the number of bytes that were here."""
    stop = Event()
    done = kept = 0
    total = manifest.index.rows
    with ThreadPoolExecutor(THREADS, "tts-prep-fetch") as pool:
        futures = {pool.submit(_fetch_file, server, folder, entry, stop): entry for entry in manifest.files}
        try:
            for future in as_completed(futures):
                entry = futures[future]
                kept += entry.size if future.result() else 0
                done += entry.rows if entry in manifest.shards else 0
                progress(Progress(done, total))
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return kept


def _fetch_file(server: Server, folder: Path, entry: FileEntry, stop: Event) -> bool:
    """Download a file unless it is here and intact; return whether it is."""
    path = folder / entry.file
    if has_size(path, entry.size) and file_sha256(path) == entry.sha256:
        return True
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"{path.parent}: cannot be made ({error.strerror}); give another folder") from error
    with written_once(path, path.with_name(path.name + PARTIAL_SUFFIX), lambda: False, 0) as file:
        if file is not None:
            server.download(entry, file, stop)
    return False
