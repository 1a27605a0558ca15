"""Runs on a Dask cluster, or on another backend of joblib."""

from typing import Final

from tts_prep.doors import ANY, Room, Row

ROOM: Final = Room(
    "Runs on a Dask cluster, or on another backend of joblib.",
    {"backends": (Row(ANY, "tts_prep.cluster.backends:run_on_cluster"),)},
    libraries={"dask": "dask", "distributed": "dask"},
)
