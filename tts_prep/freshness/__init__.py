"""Whether a store is older than what it was made from."""
