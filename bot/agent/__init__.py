"""How the agent goes on: the ladder, its last step, what the model reads, what a failure teaches."""
