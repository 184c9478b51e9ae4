"""What bounds a client: connections, heads, signatures, time, log lines."""
