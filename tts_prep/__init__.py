"""Prepare text-to-speech corpora once, load them fast ever after."""

__version__ = "0.2.0.dev0"
