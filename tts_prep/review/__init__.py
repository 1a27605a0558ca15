"""A page on this machine on which utterances are found, heard, marked and corrected."""
