"""Text frontends, one module each."""
