"""The files that people edit, read and checked: settings, texts, what the business knows."""
