"""What can be told of an installation before anything is asked of a network."""
