"""How long the sandbox and the tests wait for what should come soon."""

PATIENCE_SECONDS = 120.0
"""It ends what hangs and measures nothing: many times what a slow machine needs that has other work to do as well."""
