"""Symbol tables: named tables, and tables in files."""

from tts_prep.preprocess.text.symbols.catalogue import (
    AUTO,
    TABLES,
    Blanks,
    SymbolTable,
    choose_symbols,
    get_table,
    tables_with,
)

__all__ = ["AUTO", "TABLES", "Blanks", "SymbolTable", "choose_symbols", "get_table", "tables_with"]
