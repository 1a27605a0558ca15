"""Look at a store before training on it: what batches cost, and one page of figures, tables and sounds."""
