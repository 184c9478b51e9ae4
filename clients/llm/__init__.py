"""Any OpenAI-compatible `/chat/completions`."""
