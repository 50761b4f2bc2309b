"""How a champion is chosen: by the rule (`rules.py`) after guards (`tagger_guards.py`); it moves in `promote.py`."""
