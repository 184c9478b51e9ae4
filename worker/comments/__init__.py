"""Private replies to comments."""
