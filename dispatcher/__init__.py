"""Hands what is due to Celery."""
