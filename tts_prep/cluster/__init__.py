"""Runs on a Dask cluster, or on another backend of joblib."""
