"""Arrays and columns that are added to a complete store."""
