"""File formats: `.keras`, HDF5, safetensors, TensorFlow checkpoints and exported programs."""
