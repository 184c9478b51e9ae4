"""What can go wrong in a rehearsal."""
