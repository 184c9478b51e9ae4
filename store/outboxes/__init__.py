"""What waits in Redis to be delivered, read or looked at again, each with a due set of its own."""
