"""What is measured on samples alone, with numpy: loudness, levels and silences."""
