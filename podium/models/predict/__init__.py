"""The parts of `predict`: collecting outputs batch by batch."""
