"""The tasks of data that are ratings: read, split, train, measure, tell. `tasks.data_kinds` chooses between these and
the tasks of documents."""
