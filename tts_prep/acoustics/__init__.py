"""What is measured on samples alone, with numpy: loudness, noise, levels and silences."""
