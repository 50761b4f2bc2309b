"""The tasks of data that are ratings: read, split, train, measure, tell. `tasks.kinds` chooses between these and the
tasks of documents."""
