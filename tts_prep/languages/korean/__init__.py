"""Korean texts: normalization."""
