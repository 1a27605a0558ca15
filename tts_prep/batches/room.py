"""More datasets, samplers and batches: stores in a chain, filters, weights, mixtures, segments, priors."""

from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "datasets": (
            Row("split", "tts_prep.batches.splitting:split_positions"),
            Row("speakers", "tts_prep.batches.speakers:CommonSpeakers"),
            Row("pandas", "tts_prep.batches.tables:to_pandas"),
            Row("arrow", "tts_prep.batches.tables:to_arrow"),
        )
    }
)
