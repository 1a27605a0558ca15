"""The columns of a dataset as tables of pandas and Arrow, which are imported on use."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tts_prep.errors import ConfigurationError, MissingPackageError
from tts_prep.loader.dataset.columns import CategoryValues, Columns, TextValues

_SHARD = "shard"
_START = "_start"


def to_arrow(columns: Columns, names: Iterable[str] | None = None) -> Any:
    """Return columns as a table of Arrow; see `UtteranceDataset.to_arrow`."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise _missing("pyarrow", "parquet") from error

    def convert(values: Any) -> Any:
        if isinstance(values, CategoryValues):
            return pa.DictionaryArray.from_arrays(pa.array(values.checked_codes()), pa.array(values.table, pa.string()))
        if isinstance(values, TextValues):
            # 64-bit offsets, because the texts of a large store exceed 2 GB.
            return pa.array(list(values), pa.large_string())
        return pa.array(np.ascontiguousarray(values))

    return pa.table({name: convert(columns[name]) for name in _chosen(columns, names)})


def to_pandas(columns: Columns, names: Iterable[str] | None = None) -> Any:
    """Return columns as a frame of pandas, which are copies; see `UtteranceDataset.to_pandas`."""
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise _missing("pandas", "pandas") from error

    def convert(values: Any) -> Any:
        if isinstance(values, CategoryValues):
            return pd.Categorical.from_codes(values.checked_codes(), list(values.table))
        return list(values) if isinstance(values, TextValues) else np.array(values)

    return pd.DataFrame({name: convert(columns[name]) for name in _chosen(columns, names)})


def _chosen(columns: Columns, names: Iterable[str] | None) -> list[str]:
    if names is None:
        return [name for name in columns if name != _SHARD and not name.endswith(_START)]
    if isinstance(names, str):
        raise ConfigurationError(f"columns: expected several names, found {names!r}; give [{names!r}]")
    return list(names)


def _missing(package: str, extra: str) -> MissingPackageError:
    return MissingPackageError(f"this needs {package}, which is not installed: pip install 'tts-prep[{extra}]'")
