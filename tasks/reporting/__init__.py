"""What people read: tables, plots, curves, topics and examples."""
