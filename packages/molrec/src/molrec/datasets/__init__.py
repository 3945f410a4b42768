"""Collections as data sets: made from files, given back, split, summarized, looked into."""
