"""Meta's stand-in."""
