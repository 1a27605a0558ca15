"""What an update of a store takes over from the store that it replaces."""
