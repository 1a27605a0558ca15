"""Columns as pandas and Arrow tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from stores import SAMPLE_RATE, Row, make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.loader import UtteranceDataset


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return make_rows([7, 3, 9, 4, 5])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> UtteranceDataset:
    return UtteranceDataset(write_store(tmp_path_factory.mktemp("s") / "store", rows))


def expected(rows: list[Row]) -> dict[str, list[object]]:
    return {
        "id": [row.id for row in rows],
        "text": [row.text for row in rows],
        "speaker": [row.speaker for row in rows],
        "gender": [row.gender for row in rows],
        "n_frames": [len(row.mel) for row in rows],
        "seconds": [len(row.waveform) / SAMPLE_RATE for row in rows],
    }


def test_arrow_has_the_values_of_the_rows_in_their_order(dataset: UtteranceDataset, rows: list[Row]) -> None:
    table = dataset[::-1].to_arrow()
    for name, values in expected(rows[::-1]).items():
        np.testing.assert_array_equal(table[name].to_pylist(), values)
    assert {"shard", "mel_start", "phonemes_start"}.isdisjoint(table.column_names)
    assert table.schema.field("speaker").type == pa.dictionary(pa.int32(), pa.string())
    assert table.schema.field("text").type == pa.large_string()
    table.validate(full=True)


def test_pandas_has_the_values_of_the_rows_and_its_index_selects_them(
    dataset: UtteranceDataset, rows: list[Row]
) -> None:
    pd = pytest.importorskip("pandas")
    frame = dataset.to_pandas()
    for name, values in expected(rows).items():
        np.testing.assert_array_equal(frame[name].tolist(), values)
    assert isinstance(frame["speaker"].dtype, pd.CategoricalDtype)
    frame.loc[0, "n_frames"] = 0  # its memory is its own
    assert int(dataset.n_frames[0]) == 7
    selection = dataset[1:]
    chosen = selection.select(selection.to_pandas().query("n_frames > 4").index)
    assert list(chosen.id) == [row.id for row in rows[1:] if len(row.mel) > 4]


def test_columns_are_chosen_by_name(dataset: UtteranceDataset) -> None:
    assert dataset.to_arrow(["shard", "id"]).column_names == ["shard", "id"]
    assert dataset[:0].to_arrow().num_rows == 0
    with pytest.raises(ConfigurationError, match="no column 'colour'"):
        dataset.to_arrow(["colour"])
    with pytest.raises(ConfigurationError, match=r"expected several names, found 'id'; give \['id'\]"):
        dataset.to_arrow("id")
