"""A user's pronunciation dictionary."""
