"""The mel kernel: transforms of several frames side by side, in vector registers. See ``docs/KERNEL.md``."""
