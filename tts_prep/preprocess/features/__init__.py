"""Features: pitch, energy, durations, linear spectrograms and imported arrays."""
