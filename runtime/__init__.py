"""What both doors need from the outside world: settings, logging, Redis, the inbox, the queue."""
