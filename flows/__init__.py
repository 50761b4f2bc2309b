"""Prefect flows: each reads as the story of the job. The work is in tasks; what is to be done, in recipes."""
