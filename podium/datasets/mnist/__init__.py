"""The dataset mnist."""

from podium.datasets._mnist import load_data as load_data
