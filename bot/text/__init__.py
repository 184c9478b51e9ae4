"""What is known of a text whatever it is for: scripts, languages, sentences, addresses."""
