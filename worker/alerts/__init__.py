"""What managers are told, and its delivery."""
