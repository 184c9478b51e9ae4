"""The model's stand-in."""
