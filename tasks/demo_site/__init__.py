"""The demonstration site: a bookmarking site that is made up, served on this machine, and crawled like any other."""
