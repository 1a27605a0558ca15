"""What an update or a repair takes over from the store that it replaces."""
