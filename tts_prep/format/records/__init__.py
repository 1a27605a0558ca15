"""The JSON records of a store: manifest, plan, failures, and the specifications in them."""
