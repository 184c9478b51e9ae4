"""The door that acts: Celery tasks, the turn, the agent."""
