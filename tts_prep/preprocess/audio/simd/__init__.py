"""The compiled mel kernel, which transforms several frames in parallel in vector registers. See ``docs/kernel.md``."""
