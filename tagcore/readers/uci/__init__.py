"""Tables of the UCI repository."""
