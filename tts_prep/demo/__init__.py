"""A small demo corpus: public-domain sentences, synthesized by espeak-ng."""
