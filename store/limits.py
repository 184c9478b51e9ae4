"""Numbers that the scripts and Python both go by; the scripts get them from here (store/assembly/constants.py)."""

SEEN_SECONDS = 72 * 3600.0
"""For so long a message that was received is known when it comes again."""

ALIVE_SECONDS = 30
"""A process that was not heard of for this long counts as dead."""

HISTORY_LINES = 60
"""Lines of a conversation that are kept; what the model gets of them is the agent's choice."""

FLOOD_CAP = 200
"""More unread messages than this from one customer is a flood: the rest ends as `silenced: flood`."""
