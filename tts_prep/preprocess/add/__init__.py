"""Add arrays and columns to a complete store."""
