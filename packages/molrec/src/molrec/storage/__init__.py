"""How records lie in storage. Knows nothing of foreign formats or the command line."""
