"""The agent: asks the model, runs its tools, goes up the ladder."""
