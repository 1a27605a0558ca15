"""Which rows make which batch of which epoch."""
