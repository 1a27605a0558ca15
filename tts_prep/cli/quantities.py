"""Numbers with units, for people, as commands print them."""

from tts_prep.quantities import bytes_text, duration_text

__all__ = ["bytes_text", "duration_text"]
