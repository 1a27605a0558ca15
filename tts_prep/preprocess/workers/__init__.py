"""Where the shards' jobs run: processes of this machine, or a cluster."""
