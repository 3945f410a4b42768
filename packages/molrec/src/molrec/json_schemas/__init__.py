"""JSON Schemas of the documents a store holds; `molrec.schema` collects and writes them."""
