"""Telegram's stand-in."""
