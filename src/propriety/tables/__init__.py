"""Reading and checking user input, and pooling it into forecast tables."""
