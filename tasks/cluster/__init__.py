"""Where work runs: this process, worker processes beside it, or a Dask cluster."""
