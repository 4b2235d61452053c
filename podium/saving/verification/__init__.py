"""Files compared with their digests, without a model. Internal: see `podium.saving`."""
