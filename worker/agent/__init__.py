"""The agent: asks the model, runs its tools, climbs the ladder."""
