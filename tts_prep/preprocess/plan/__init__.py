"""Plan the shards of a store: which rows, in which shards, made with which settings."""
