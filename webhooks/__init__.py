"""The door that hears: the receiver, and the dispatcher beside it."""
