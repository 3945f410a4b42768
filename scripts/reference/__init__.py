"""How the pages of docs/reference are made from the sources."""
