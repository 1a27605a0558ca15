"""Workers: processes on this machine, or a cluster."""
