"""Reads from Meta what no webhook has brought."""
