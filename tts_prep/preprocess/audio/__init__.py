"""Log-mel spectrograms of recordings, equal to those that vocoders were trained on."""
