"""What bounds whoever knocks: connections, heads, signatures, time, log lines."""
