"""The local processes around flows."""
