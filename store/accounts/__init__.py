"""What is kept per account: its ids, its pace, its rest, when it was looked through."""
