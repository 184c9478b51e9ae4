"""What may be said: the checks of a model's reply, and its way into messages."""
