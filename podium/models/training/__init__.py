"""The parts of `fit` and `evaluate`: checks, the training run, validation and running means."""
