"""Readers of other corpora than LJ Speech, and of lists and manifests."""

from typing import Final

from tts_prep.doors import ANY, Room, Row

_CORPORA: Final = (
    "vctk",
    "librispeech",
    "libritts",
    "baker",
    "aishell3",
    "jsut",
    "kss",
    "css10",
    "arctic",
    "jvs",
    "mailabs",
    "mls",
    "fleurs",
    "hifitts",
    "gigaspeech",
    "esd",
    "openslr",
    "folder",
    "recordings",
    "filelist",
    "kaldi",
    "manifest",
)
"""The modules of the corpora, in the order of the help."""

_TABLES: Final = (".parquet", ".arrow", ".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".psv")
"""The suffixes of files that can only be tables."""

ROOM: Final = Room(
    "Readers of other corpora than LJ Speech, and of lists and manifests.",
    {
        "corpora": tuple(Row(name, f"tts_prep.corpora.{name}:CORPUS") for name in _CORPORA),
        "tables": (Row(ANY, "tts_prep.corpora.manifests.containers:table_rows", keys=_TABLES),),
    },
    libraries={"pyarrow": "parquet"},
)
