"""Readers of other corpora than LJ Speech, and of lists and manifests."""

import re
from pathlib import Path

from tts_prep.doors import ANY, Room, Row

_SECTIONS = Path(__file__).with_name("corpora.toml").read_text("utf-8")
_CORPORA = re.findall(r"^\[([a-z0-9_]+)\]$", _SECTIONS, re.MULTILINE)
"""The names of the sections, in the order of the help; tomllib takes 10 ms to be imported."""

_TABLES = (".parquet", ".arrow", ".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".psv")
"""The suffixes of files that can only be tables."""

ROOM = Room(
    {
        "corpora": tuple(Row(name, f"tts_prep.corpora.records:{name}") for name in _CORPORA),
        "lists": (Row("listed", "tts_prep.corpora.manifests.lists:ListedArrays"),),
        "tables": (Row(ANY, "tts_prep.corpora.manifests.containers:table_rows", keys=_TABLES),),
    },
    needs=("tables",),
)
