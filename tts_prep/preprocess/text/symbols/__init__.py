"""Symbol tables: named tables, and tables in files."""

from tts_prep.preprocess.text.symbols.catalogue import TABLES, Blanks, SymbolTable, get_table, tables_with
from tts_prep.preprocess.text.symbols.choice import AUTO, choose_symbols

__all__ = ["AUTO", "TABLES", "Blanks", "SymbolTable", "choose_symbols", "get_table", "tables_with"]
