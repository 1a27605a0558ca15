"""What a store has, and which values options accept: the commands ``info``, ``presets``, ``symbols`` and others."""
