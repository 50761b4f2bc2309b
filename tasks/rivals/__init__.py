"""Other people's taggers, in a Python of their own, on the rows that ours learn from."""
