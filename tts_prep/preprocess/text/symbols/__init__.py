"""Symbol tables: named tables, and what tables in files are."""

from tts_prep.preprocess.text.symbols.catalogue import (
    AUTO,
    TABLES,
    Blanks,
    RecordedTable,
    SymbolTable,
    Table,
    choose_symbols,
    get_table,
    tables_with,
)

__all__ = [
    "AUTO",
    "TABLES",
    "Blanks",
    "RecordedTable",
    "SymbolTable",
    "Table",
    "choose_symbols",
    "get_table",
    "tables_with",
]
