"""Corpora described by a manifest: JSON lines, tables, parquet and arrow files, lhotse manifests, tar archives."""

from tts_prep.corpora.manifests.reader import read_manifest

__all__ = ["read_manifest"]
