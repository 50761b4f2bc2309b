"""Prefect tasks, thin: they move data by path and call tagcore. MLflow lives here and nowhere else."""

import os

# settled before MLflow is imported anywhere: no pickle is ever loaded, and nothing is reported to anyone
os.environ["MLFLOW_ALLOW_PICKLE_DESERIALIZATION"] = "false"
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")  # progress is told by our own lines
