"""Values from files: arrays, and durations from alignments."""
