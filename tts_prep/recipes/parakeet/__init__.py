"""What Parakeet's training scripts import, by its names: batches, padding, zipped datasets, a sampler and a loader."""
