"""How a script comes to be: the Lua files put together, and what Python tells them."""
