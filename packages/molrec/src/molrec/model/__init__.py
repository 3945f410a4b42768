"""What a record is: blocks, frames, boxes, declarations and carry-forward. Nothing here knows of files."""
