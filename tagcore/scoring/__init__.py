"""Scores of rows in blocks and shards, their calibration into probabilities, and their explanation by words."""
