"""The on-disk contract between preprocess and loader, as written down in ``docs/FORMAT.md``."""
