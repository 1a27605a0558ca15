"""What the HDF5 files of a store contain: shards, added arrays, the index, out-of-domain texts."""
