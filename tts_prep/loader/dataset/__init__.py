"""Stores as datasets: rows, columns, arrays, and datasets composed of others."""
