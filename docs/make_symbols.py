"""Write docs/symbols.md from the symbol tables themselves: ``python docs/make_symbols.py``."""

from __future__ import annotations

from pathlib import Path

from tts_prep.preprocess.text.symbols import TABLES

PAGE = Path(__file__).parent / "symbols.md"

HEAD = """# Symbol tables

<!-- Made by docs/make_symbols.py; a test holds it to the tables. -->

A model only works with the ids that it was trained with. Each table is one public list of symbols; the position of a
symbol is its id. `tts-prep symbols NAME` prints a table as a file for `--symbols`, to which symbols can be added.

```sh
tts-prep symbols
tts-prep symbols piper > table.txt
```

"""

REST = """
The default is `styletts2` for English and `espeak` for every other language; `arpabet` and `characters` have Parakeet's
tables. `espeak` has every character that espeak-ng gives for any phoneme of its 140 voices, so no text of any of its
languages has an unknown symbol. Its first 178 symbols are StyleTTS2's, with the same ids.

StyleTTS2's and VITS's tables have the apostrophe twice, and Coqui's VITS has 25 letters twice: the later id is the one
in use, as in their own code. Ids that a source leaves out are symbols that no text has, such as `<unused-7>`.

## A table of one's own

`--symbols FILE` is a text file in UTF-8: one symbol a line; the first line has id 0. A line that is one space is the
symbol space. A symbol may have several characters. `<pad>`, `<unk>`, `<s>`, `</s>` and `<blank>` are known by their
names; without `<pad>`, the first symbol pads. A symbol that stands twice is an error. A file with the name of a table
is given as `./NAME`.

A file whose lines are a symbol, a space and its id is read so, as PaddleSpeech's `phone_id_map.txt`. PaddleSpeech and
ESPnet count their ids anew for each model, and publish them with it. Of PaddleSpeech's, `paddlespeech-zh` has those of
the models of Baker; with it, `--frontend mandarin` spells syllables as PaddleSpeech does.

`--symbols auto` reads the texts of the corpus once before the store is begun, and makes a table of `<pad>`, `<unk>`,
`<s>`, `</s>` and the symbols that it found, in the order of their code points. It depends on texts and frontend only:
every part (`--part`) and every later run gets the same one. The store has the table as if it had come from a file.

A store remembers its table. A run with another table is refused, and so is a batch of utterances whose stores have
different ones.

## From phonemes to symbols

Where phonemes stand one behind the other (`espeak`, `characters`), the longest symbol that fits is taken: with `t`,
`ʃ` and `tʃ` in the table, `tʃa` is `tʃ`, `a`. Piper looks characters up one by one, decomposed, and so does its table.

With `--frontend phonemes`, a table of single characters takes each character as a symbol; with longer symbols, spaces
separate them, and `▁` is the symbol space. Inside of braces, spaces separate symbols with every table, as FastSpeech2
writes: `{HH AH0 L OW1}`. The phones of FastSpeech2's table are called `@HH` there; inside of braces they are found
without the `@`, and what is outside of braces is characters.

## Ends and blanks

| system | option |
| --- | --- |
| VITS, Matcha-TTS, Coqui's VITS | `around`: a blank between all symbols and at both ends |
| Piper | `between`: `^ _ h _ ə _ l _ o _ ʊ _ $`; start and end symbols are there by default with its table |
| Kokoro | the id 0 at both ends, by default with its table |
| Parakeet | `<s>` and `</s>` at the ends, by default with the frontend `arpabet` |

Blanks are put in when a batch is made, `Collator(blanks="around")`, so that a store serves models with and without; or
when the store is made, `--blanks around`. In a batch, `phoneme_lengths` count them. In a store, ids and `n_phonemes`
have ends and blanks; the text of the phonemes has not, and neither has what a frontend's `decode` gives.

`benchmarks/symbols.py` runs the sources' own code on the same strings as these tables: 1,000 random ones for each
table, and 505 lines of phonemes. StyleTTS2's `TextCleaner`, the `text_to_sequence` of VITS, Matcha-TTS and FastSpeech2,
both `intersperse`, Piper's `phonemes_to_ids`, Coqui's characters and `intersperse_blank_char`, Kokoro's vocabulary,
Parakeet's `English.numericalize` (whose `...` is `…` here) and ESPnet's `TokenIDConverter` give the same ids for all of
them. `paddlespeech-zh` is what PaddleSpeech's scripts make of Baker's pinyin: its lexicon, `spn` for the three syllables
that it lacks, the pauses of its aligner, and `get_input_token`; the models are not at hand, but their published
comma has the same id, 263. The 69,987 phones of 1,000 utterances of LJ Speech by the Montreal Forced Aligner are all in
`mfa-arpa`.

## Sources

"""


def symbols_page() -> str:
    """Return the page."""
    rows = ["| table | symbols | pad | its system's ends, blanks | made for |", "| --- | --- | --- | --- | --- |"]
    for table in TABLES.values():
        arranged = f"`{table.start}` `{table.end}` " if table.ends else ""
        arranged += f"`{table.blank}` {table.blanks}" if table.blanks else ""
        rows.append(f"| `{table.name}` | {len(table.symbols)} | `{table.pad}` | {arranged} | {table.made_for} |")
    sources = ["| table | ids from | licence of the source |", "| --- | --- | --- |"]
    sources += [f"| `{table.name}` | {table.source} | {table.licence} |" for table in TABLES.values()]
    return HEAD + "\n".join(rows) + "\n" + REST + "\n".join(sources) + "\n"


if __name__ == "__main__":
    PAGE.write_text(symbols_page(), encoding="utf-8")
