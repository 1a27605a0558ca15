"""Functions of batches of utterances, such as codecs and speaker encoders, in processes."""

from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "models": (
            Row("explained", "tts_prep.models.options:explained"),
            Row("function", "tts_prep.models.options:function_of"),
            Row("add", "tts_prep.models.addition:add"),
            Row("add_array", "tts_prep.models.add_model:add_array"),
        ),
        "additions": (Row("models", "tts_prep.models.addition:OPTIONS"),),
        "kept": (Row("outputs", "tts_prep.models.outputs:keep_outputs", keys=("failures", "text_columns")),),
    },
    needs=("additions", "update"),
)
