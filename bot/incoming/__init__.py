"""What comes from customers and from Meta, as values: events, attachments, intents."""
