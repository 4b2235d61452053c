"""Objects as configs and back, and the JSON they are stored in."""
