"""What is kept in Redis, and of which version: the table of keys, the states of a conversation, the way from one
version of both to the next."""
