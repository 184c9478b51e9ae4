"""What managers are told, and in which words.

A new alert takes three lines: its rule in `bot/alerts/rules.py`, its words under `[reasons]` in `alerts.toml` of every
locale, and `Alert("the_rule", ...)` where it happens, raised through `store/outboxes/alerts.py`.
"""
