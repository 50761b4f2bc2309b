"""Planted data: the same however it is cut, and the structure that was planted is really there."""
