"""Batches made before they are asked for."""
