"""Symbol tables: named tables, and tables in files."""

from tts_prep.preprocess.text.symbols.catalogue import AUTO, TABLES, SymbolTable, choose_symbols, get_table, tables_with
from tts_prep.preprocess.text.symbols.tokenizer import TokenizerTable
from tts_prep.preprocess.text.symbols.voice import Blanks, VoiceTable

__all__ = [
    "AUTO",
    "TABLES",
    "Blanks",
    "SymbolTable",
    "TokenizerTable",
    "VoiceTable",
    "choose_symbols",
    "get_table",
    "tables_with",
]
