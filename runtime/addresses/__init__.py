"""How the addresses of Redis and its sentinels are read."""
