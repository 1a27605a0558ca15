"""Checks all files of a store, and makes broken ones again."""
