"""HDF5 files with contiguous datasets, which are memory-mapped without HDF5."""
