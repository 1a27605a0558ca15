"""A small corpus that needs no download: public-domain sentences, spoken by espeak-ng."""
