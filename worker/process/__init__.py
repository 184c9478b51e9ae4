"""The life of the worker process."""
