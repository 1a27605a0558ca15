"""Text to phonemes: one module for each frontend."""
