"""Meta's Graph API."""
