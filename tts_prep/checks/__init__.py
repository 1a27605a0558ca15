"""Measure every utterance of a store and name those that may spoil training. Nothing is changed or deleted."""
