"""The `tagflow` command: one small file per group. Heavy libraries are imported inside commands only."""
