"""The search of a model's settings: what may be chosen, and the study that chooses."""
