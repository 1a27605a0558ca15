"""More datasets, samplers and batches: stores in a chain, filters, weights, mixtures, segments, priors."""
