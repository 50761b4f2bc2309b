"""Random numbers keyed by a counter, the same in any order and on any worker."""
