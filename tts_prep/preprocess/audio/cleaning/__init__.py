"""Optional processing of recordings before mels are computed; see `cleaner` for the order of steps."""
