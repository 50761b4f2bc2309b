"""What of the benchmarks is collected for its examples."""

collect_ignore = ["process_rivals.py"]  # which another Python runs, whose libraries are not here
