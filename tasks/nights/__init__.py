"""Nights in a row on one corpus: what the last one left, what is new since, and whether models go on or start over."""
