"""The programs that a benchmark starts: loads, floors, the other side."""
