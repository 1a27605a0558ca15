"""Read alignments: TextGrids, CTM files, and durations in array or text files."""
