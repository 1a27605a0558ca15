"""Stores behind URLs: downloads by fsspec, and a cache of files that the processes of a machine share."""
