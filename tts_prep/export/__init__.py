"""A store in the layout of another system: its manifest, and its arrays as that system's files."""
