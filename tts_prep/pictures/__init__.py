"""Plots of utterances: as SVG and HTML for pages, and as matplotlib figures."""
