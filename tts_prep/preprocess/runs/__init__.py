"""Runs: plan the shards of a store, make them, finish the store, repair it, add arrays."""
