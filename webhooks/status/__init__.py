"""What operators and probes ask: health, metrics, and who may."""
