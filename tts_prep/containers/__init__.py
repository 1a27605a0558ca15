"""Other containers of recordings than WAV."""
