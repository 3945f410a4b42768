"""What the golden fixtures are made of: their content in plain numpy, its JSON, and the stores that hold it."""
