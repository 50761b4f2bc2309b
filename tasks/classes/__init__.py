"""The tasks of data that are rows of numbers with one class each: split, train, measure, tell. Such tables are read as
documents are; `tasks.data_kinds` chooses between these tasks and those of documents."""
