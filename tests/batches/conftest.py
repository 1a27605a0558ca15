"""The fixtures of these tests."""

from row_stores import dataset, rows, store

__all__ = ["dataset", "rows", "store"]
