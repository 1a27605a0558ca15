"""Find the locations of the datasets of an HDF5 file, which are then read without HDF5."""

import math
from collections.abc import Iterator
from pathlib import Path

import h5py

from tts_prep.errors import CannotReadError, CorruptStoreError, TtsPrepError, broken
from tts_prep.format.decoding import shown
from tts_prep.format.files.paths import check_regular, read_error
from tts_prep.format.hdf5.datasets import Location, Locations

_MAX_DEPTH = 3
_MAX_OBJECTS = 4096
"""The maximum number of groups and datasets of a file; a cycle of groups would never end."""


def read_locations(path: Path) -> Locations:
    """Return the location of every dataset of an HDF5 file by its path in the file.

    Links are checked before they are followed, so that no other file is opened.

    Raises:
        CorruptStoreError: HDF5 cannot read the file; a link is not a hard link; a dataset is not contiguous, or holds
            values other than numbers and fixed-length strings; there are too many objects.
        CannotReadError: the system does not permit to read it, or has too many open files.
    """
    try:
        check_regular(path)
        with h5py.File(path, "r", locking=False) as file:
            return dict(find_datasets(file, path))
    except FileNotFoundError:
        raise CorruptStoreError(f"{path}: no such file") from None
    except TtsPrepError:
        raise
    except Exception as error:  # for a broken file, h5py raises many kinds of exceptions
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if read_error(error) is CannotReadError:
            raise CannotReadError(f"{path}: cannot be read here ({reason})") from error
        raise broken(f"{path}: cannot be read as HDF5 ({reason})") from error


def locations_as_json(path: Path) -> dict[str, tuple[int, tuple[int, ...], str]]:
    """Return the result of `read_locations` as JSON: offset, shape and dtype of every dataset."""
    return {name: (place.offset, place.shape, place.dtype.str) for name, place in read_locations(path).items()}


def find_datasets(file: h5py.File, path: Path) -> Iterator[tuple[str, Location]]:
    """Yield path and location of every dataset of an open file; see `read_locations`."""
    # With the identifiers of HDF5 alone, which takes half of the time of h5py's groups and datasets.
    pending: list[tuple[h5py.h5g.GroupID, str, int]] = [(file.id, "", 0)]
    n_objects = 0
    while pending:
        group, prefix, depth = pending.pop()
        # Check the number of links before reading their names.
        n_objects += len(group)
        if n_objects > _MAX_OBJECTS:
            raise CorruptStoreError(f"{path}: more than the maximum of {_MAX_OBJECTS:,} HDF5 objects")
        for name in group:
            where = prefix + name.decode("utf-8", "surrogateescape")
            if group.links.get_info(name).type != h5py.h5l.TYPE_HARD:
                raise CorruptStoreError(
                    f"{path}: {shown(where)}: expected a dataset or group in this file, found a link"
                )
            item = h5py.h5o.open(group, name)
            if isinstance(item, h5py.h5d.DatasetID):
                yield where, _locate(item, path, where)
            elif not isinstance(item, h5py.h5g.GroupID):
                raise CorruptStoreError(f"{path}: {shown(where)}: expected a dataset, found another kind of object")
            elif depth == _MAX_DEPTH:
                raise CorruptStoreError(f"{path}: groups are nested deeper than {_MAX_DEPTH} levels")
            else:
                pending.append((item, f"{where}/", depth + 1))


def _locate(dataset: h5py.h5d.DatasetID, path: Path, where: str) -> Location:
    offset, shape, dtype = dataset.get_offset(), dataset.shape, dataset.dtype
    # Only what is contiguous in this file has an offset; what has no elements has none either.
    if shape is None or (offset is None and not _is_contiguous(dataset.get_create_plist())):
        raise CorruptStoreError(f"{path}: {shown(where)}: expected contiguous storage in this file, found another kind")
    if dtype.kind not in "iufS" or dtype.byteorder == ">":
        raise CorruptStoreError(
            f"{path}: {shown(where)}: expected little-endian numbers or a string, found {shown(str(dtype))}"
        )
    return Location(-1 if offset is None or math.prod(shape) == 0 else int(offset), shape, dtype)


def _is_contiguous(properties: h5py.h5p.PropDCID) -> bool:
    return bool(properties.get_layout() == h5py.h5d.CONTIGUOUS and not properties.get_external_count())
