"""Corpora described by a manifest: JSON lines, tables, parquet and arrow files, lhotse manifests, tar archives."""
