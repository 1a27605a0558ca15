"""Runs on a Dask cluster, or on another backend of joblib."""

from tts_prep.doors import ANY, Room, Row

ROOM = Room(
    {"backends": (Row(ANY, "tts_prep.cluster.backends:run_on_cluster"),)},
    libraries={"dask": "dask", "distributed": "dask"},
)
