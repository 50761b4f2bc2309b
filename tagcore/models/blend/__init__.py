"""A stack over taggers: what each says of a tag, put together by a small combiner that held-out documents taught."""
