"""`applications.mobilenet_v3`: preprocessing and decoding for MobileNetV3."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._preprocessing import return_unchanged as preprocess_input
