"""How a champion is chosen: the rule, the guards before it, and the move itself."""
