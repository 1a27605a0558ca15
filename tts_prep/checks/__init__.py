"""Quality measures of the utterances of a store, and detection of suspect ones. The store is not changed."""
