"""The life of a store: plan the shards, make them, finish, repair."""
