"""What others would use instead. Each file runs alone, under an interpreter that has the peer installed."""
