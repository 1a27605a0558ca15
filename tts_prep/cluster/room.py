"""Runs on a Dask cluster, or on another backend of joblib."""

from typing import Final

from tts_prep.doors import Room

ROOM: Final = Room(
    "Runs on a Dask cluster, or on another backend of joblib.",
    libraries={"dask": "dask", "distributed": "dask"},
)
