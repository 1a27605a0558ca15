"""The settings of a run, and reading them from presets, files and options."""
