"""Who watches whom: the dispatcher the workers, the receiver the dispatcher and Redis, an address outside all of it."""
