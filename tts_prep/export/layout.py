"""The record of a layout, beside the function that writes it, and the folder that it is written to."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tts_prep.errors import ConfigurationError, StoreError, StoreInUseError
from tts_prep.format.files.atomic import check_own_folder, remove_folder, sync
from tts_prep.format.files.paths import is_store

_THREADS = 8


@dataclass
class ExportFolder:
    """The files of an export.

    Attributes:
        place: the folder as given. Paths inside of files start with it.
        path: the folder in which files are written.
        files: the files, relative to the folder.
        licence: the licence that was named, an identifier or a text; empty if none was.
        report: called with a line about utterances that are left out.
        carried: the added arrays that the files have, also under other names.
    """

    place: Path
    path: Path
    files: list[str] = field(default_factory=list)
    licence: str = ""
    report: Callable[[str], None] = lambda _: None
    carried: set[str] = field(default_factory=set)
    _folders: set[Path] = field(default_factory=set)

    def file(self, name: str) -> Path:
        """Return the path at which a file of the export is to be written, in an existing folder."""
        path = self.path / name
        if path.parent not in self._folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._folders.add(path.parent)
        self.files.append(name)
        return path

    def write(self, name: str, content: bytes | str) -> Path:
        """Write a file, text as UTF-8, and return its path in the complete export."""
        self.file(name).write_bytes(content.encode() if isinstance(content, str) else content)
        return self.place / name


@contextlib.contextmanager
def exporting(place: Path) -> Iterator[ExportFolder]:
    """Yield a folder to write to; afterwards, sync its files and rename it to ``place``.

    It is a sibling of ``place``, or inside of it if ``place`` is the root of a file system or has a folder in which
    nothing can be created. It is removed after an exception, and after a kill by the next export to the same place.

    Raises:
        ConfigurationError: the place is not empty, is no folder, or is inside a store.
        StoreInUseError: another export is writing to the place.
        StoreError: a file cannot be written, or the folder beside ``place`` is a link or belongs to another user.
    """
    real = Path(os.path.realpath(place))
    try:
        _check_empty(place, real)
        path = _partial(real)
        with _locked(path, place):
            try:
                _clear(path)
                folder = ExportFolder(place, path)
                yield folder
                _sync_files(path)
                _check_empty(place, real)
                _rename(path, real)
            except BaseException:
                remove_folder(path)
                raise
    except OSError as error:
        where = str(error.filename or place).replace(str(_partial(real)), str(place))
        raise StoreError(f"{where}: cannot be written ({error.strerror or error}); nothing was exported") from error


def _check_empty(place: Path, real: Path) -> None:
    if store := next(filter(is_store, real.parents), None):
        raise ConfigurationError(
            f"{place}: inside the store {store}, which holds nothing else; use a folder outside it"
        )
    if not os.path.lexists(real):
        return
    if not real.is_dir():
        raise ConfigurationError(f"{place}: is no folder; use a new folder")
    if any(path != _partial(real) for path in real.iterdir()):
        raise ConfigurationError(f"{place}: not empty; use a new folder")


def _partial(real: Path) -> Path:
    """Return the folder that is renamed to a place."""
    beside = real.with_name(f".{real.name}.export")
    if real.is_dir() and not beside.exists() and (real.is_mount() or not os.access(real.parent, os.W_OK | os.X_OK)):
        return real / ".export"
    return beside


@contextlib.contextmanager
def _locked(path: Path, place: Path) -> Iterator[None]:
    """Make a folder and hold an operating-system lock on it, which ends with its holder; none on Windows."""
    check_own_folder(path)
    path.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        is_held = False
        with contextlib.suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another export may have renamed the folder before it was locked.
            is_held = os.path.samestat(os.fstat(descriptor), path.stat())
        if not is_held:
            raise StoreInUseError(f"{place}: another export is writing to it; wait for its end, or give another folder")
        yield
    finally:
        os.close(descriptor)


def _clear(path: Path) -> None:
    """Delete what an export that was killed has left."""
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            remove_folder(entry)
        else:
            entry.unlink()


def _sync_files(path: Path) -> None:
    paths = [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(sync, paths))
    for folder, _, _ in os.walk(path, topdown=False):
        sync(Path(folder))


def _rename(path: Path, real: Path) -> None:
    if path.parent == real:
        for entry in sorted(path.iterdir()):
            entry.rename(real / entry.name)
        path.rmdir()
    else:
        with contextlib.suppress(FileNotFoundError):
            real.rmdir()
        path.rename(real)
    sync(real.parent)


@dataclass(frozen=True)
class Layout:
    """A layout of another system.

    Attributes:
        name: the name, as in ``--to``.
        write: the module of this package and its function, which writes a store's utterances to a folder.
        files: what is written, in Markdown.
        opened_by: what opens it, in Markdown.
        needs: what it needs besides mels and phonemes, in Markdown.
        system: the system in messages.
        carries: which of a store's columns and arrays it has besides those that the function names: ``"all"``,
            ``"columns"``, or the names of arrays.
        needs_mels: whether it is of no use without mels.
        takes_licence: whether it has a place for the licence of the data.
        other_names: what people type instead of the name.
    """

    name: str
    write: str = field(repr=False)
    files: str = field(repr=False)
    opened_by: str
    needs: str = field(default="", repr=False)
    system: str = ""
    carries: str | Sequence[str] = ()
    needs_mels: bool = False
    takes_licence: bool = False
    other_names: Sequence[str] = ()

    @property
    def help(self) -> str:
        """What is written, what opens it, and what it needs, without marks of Markdown."""
        needs = f"; needs {self.needs}" if self.needs else ""
        return f"{self.files}; for {self.opened_by}{needs}".replace("`", "")
