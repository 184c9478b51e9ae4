"""The third door, for the people who run it."""
