"""The Redis server itself: its clock, its replicas, what it must be like, one connection for many callers."""
