"""Make the planned shards of a store, and complete it, in one transaction."""
