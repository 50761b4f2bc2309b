"""Data sets on disk: parquet files with a manifest, written whole or not at all, near or far."""
