"""What is computed from samples besides the mel: cleaned recordings, pitch, spectrograms, mels of other presets."""
