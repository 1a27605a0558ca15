"""Tables in files: parquet and arrow, with the recordings inside them, and the cells of tables as numbers."""
