"""Korean: numbers, dates and units as they are spoken."""
