"""Reading what an aligner wrote: TextGrids, CTM files, durations as arrays or texts."""
