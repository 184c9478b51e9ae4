"""The only modules that speak to the world: Graph API, the model, Telegram."""
