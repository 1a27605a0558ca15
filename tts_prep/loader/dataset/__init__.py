"""Stores as datasets: rows, columns, arrays, and datasets made of datasets."""
