"""RCV1 as LYRL2004 published it: vectors of words, topics, and their hierarchy."""
