"""More datasets, samplers and batches: stores in a chain, filters, weights, mixtures, segments, priors."""

from tts_prep.doors import Room

ROOM = Room()
