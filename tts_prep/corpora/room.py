"""Readers of other corpora than LJ Speech, and of lists and manifests."""

from typing import Final

from tts_prep.doors import ANY, Room, Row

_CORPORA: Final = {
    "vctk": "english",
    "librispeech": "librivox",
    "libritts": "librivox",
    "baker": "asian",
    "aishell3": "asian",
    "jsut": "asian",
    "kss": "asian",
    "css10": "librivox",
    "arctic": "english",
    "jvs": "asian",
    "mailabs": "librivox",
    "mls": "librivox",
    "fleurs": "multilingual",
    "hifitts": "librivox",
    "gigaspeech": "english",
    "esd": "multilingual",
    "openslr": "multilingual",
    "folder": "folder",
    "recordings": "folder",
    "filelist": "filelist",
    "kaldi": "kaldi",
    "manifest": "manifest",
}
"""The module of each corpus, in the order of the help; its record has the name of the corpus in capitals."""

_TABLES: Final = (".parquet", ".arrow", ".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".psv")
"""The suffixes of files that can only be tables."""

ROOM: Final = Room(
    "Readers of other corpora than LJ Speech, and of lists and manifests.",
    {
        "corpora": tuple(Row(name, f"tts_prep.corpora.{file}:{name.upper()}") for name, file in _CORPORA.items()),
        "tables": (Row(ANY, "tts_prep.corpora.manifests.containers:table_rows", keys=_TABLES),),
    },
    libraries={"pyarrow": "parquet"},
)
