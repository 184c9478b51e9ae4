"""What Nightshift costs, measured beside its floor and its peers: `python -m benchmarks --help`, docs/scaling.md."""
