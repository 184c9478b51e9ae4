"""The other side as real HTTP servers: Meta, the model, Telegram. For the demo and the tests."""
