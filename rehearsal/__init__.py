"""The silence test: scripted conversations, injected faults, and a checker that reads the ledger."""
