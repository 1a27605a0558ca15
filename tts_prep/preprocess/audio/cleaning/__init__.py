"""What may be done to a recording before its mel is made; `cleaner` has the order."""
