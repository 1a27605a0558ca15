"""Mel settings from the configuration files of other systems."""
