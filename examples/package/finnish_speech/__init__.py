"""A corpus, a frontend and a feature for tts-prep, registered in pyproject.toml."""
