"""Reports on a store: the cost of batches, and HTML pages of charts, tables and recordings."""
