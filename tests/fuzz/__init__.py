"""Input that no one would write, made up at random from a seed."""
