"""Export of a store to the layouts of other systems: a manifest, and arrays as files."""
