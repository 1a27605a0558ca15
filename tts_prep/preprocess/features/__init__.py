"""What recipes read beside mels and phonemes: pitch, energy, durations, linear spectrograms, arrays made elsewhere."""
