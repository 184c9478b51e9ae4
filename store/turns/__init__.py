"""What a turn asks the store and writes to it: the claim, the lease, the plan and its parts."""
