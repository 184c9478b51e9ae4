"""Everything in Redis: connections, the Lua scripts, and what reads and writes through them."""
