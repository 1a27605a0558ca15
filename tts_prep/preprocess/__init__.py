"""Everything slow, done once and in parallel: read, resample, mel spectrogram, phoneme ids, shards."""
