"""``croissant.json``: what a folder of parquet files has, in MLCommons' format Croissant 1.0."""

import importlib.resources
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tts_prep.export.layout import ExportFolder
from tts_prep.format.files.checksums import file_sha256

_PARQUET: Final = {"encodingFormat": "application/x-parquet"}
_TYPES: Final = {"string": "sc:Text", "double": "sc:Float", "float": "sc:Float", "halffloat": "sc:Float"}


def croissant(name: str, about: str, licences: Sequence[str], folder: ExportFolder, schema: Any) -> str:
    """Return the metadata of an export's parquet files as JSON-LD.

    Lists of lists, such as mels, are left out: the format has no place for them.

    Args:
        name, about: the name of the dataset, and where it comes from.
        licences: identifiers or texts.
        schema: that of the files, by pyarrow.
    """
    template = json.loads(importlib.resources.files(__package__).joinpath("croissant.json").read_text("utf-8"))
    files = [
        {"@type": "cr:FileObject", "@id": file, "name": file, "contentUrl": file, **_PARQUET}
        | {"sha256": file_sha256(folder.path / file)}
        for file in folder.files
        if file.endswith(".parquet")
    ]
    of_all = {"@type": "cr:FileSet", "@id": "parquet-files", **_PARQUET, "includes": "data/train-*.parquet"}
    fields = [*_fields(schema, template.pop("descriptions"))]
    record = {
        **template,
        "name": name,
        "description": about,
        "distribution": [*files, of_all],
        **({"license": licences[0] if len(licences) == 1 else list(licences)} if licences else {}),
        "recordSet": [{"@type": "cr:RecordSet", "@id": "train", "name": "train", "field": fields}],
    }
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def _fields(schema: Any, descriptions: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the columns that the format has a type for."""
    for column in schema:
        source: dict[str, Any] = {"fileSet": {"@id": "parquet-files"}, "extract": {"column": column.name}}
        field = {"@type": "cr:Field", "@id": f"train/{column.name}", "name": column.name, "source": source}
        field |= {"description": descriptions[column.name]} if column.name in descriptions else {}
        is_list = hasattr(column.type, "value_type")
        kind = str(column.type.value_type if is_list else column.type)
        if column.name == "audio":
            source["transform"] = {"jsonPath": "bytes"}
            yield {**field, "dataType": "sc:AudioObject"}
        elif kind.startswith(("int", "uint")) or kind in _TYPES:
            yield {**field, "dataType": _TYPES.get(kind, "sc:Integer"), **({"repeated": True} if is_list else {})}
