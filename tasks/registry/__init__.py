"""MLflow: runs, registered models and their aliases."""
