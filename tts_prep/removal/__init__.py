"""Rows, columns and arrays that leave a complete store."""
