"""What people touch: the command, the local stack."""
