-- PostgreSQL makes the database of POSTGRES_DB (prefect) itself; MLflow has one of its own
CREATE DATABASE mlflow;
