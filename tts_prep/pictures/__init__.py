"""Draw utterances: as SVG and HTML for a page, and as a figure of matplotlib."""
