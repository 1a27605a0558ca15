"""The store format, which is the interface between preprocess and loader; see ``docs/format.md``."""
