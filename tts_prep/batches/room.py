"""More datasets, samplers and batches: stores in a chain, filters, weights, mixtures, segments, priors."""

from typing import Final

from tts_prep.doors import Room

ROOM: Final = Room(
    "More datasets, samplers and batches: stores in a chain, filters, weights, mixtures, segments, priors."
)
