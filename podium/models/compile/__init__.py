"""What `Model.compile` sets up: losses, metrics and their mapping to outputs."""
