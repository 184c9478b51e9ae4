"""Random worlds: the real scripts and turns against a real Valkey, in a time and an order that a seed decides.

`docs/testing.md` tells how to read a finding. `python -m tests.worlds` plays any number of them.
"""
