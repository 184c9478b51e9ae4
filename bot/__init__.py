"""What the bot decides: pure functions and values, no I/O, no clock, no chance."""
