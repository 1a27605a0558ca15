"""Out-of-domain texts: sentences without recordings, in a store."""

from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "ood": (
            Row("make", "tts_prep.ood.making:make_ood_texts"),
            Row("existing", "tts_prep.ood.making:existing_ood_header"),
            Row("line", "tts_prep.ood.making:line_about"),
            Row("open", "tts_prep.ood.texts:OutOfDomainTexts"),
        )
    },
)
