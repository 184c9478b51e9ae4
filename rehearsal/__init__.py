"""The silence test: scripted conversations, injected faults, and a judge that reads the books."""
