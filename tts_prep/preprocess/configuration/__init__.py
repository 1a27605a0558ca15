"""The settings of a run: their records, and how they are read from presets, files and options."""
