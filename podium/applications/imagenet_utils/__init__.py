"""Preprocessing and decoding that the architectures of `podium.applications` share."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._preprocessing import preprocess_input as preprocess_input
