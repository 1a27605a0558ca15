"""Figures of other languages than English: dates, times, money, units, ordinals and numbers in words."""
