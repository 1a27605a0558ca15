"""Text frontends: normalization, phonemes, and phoneme ids."""
