"""`applications.mobilenet_v2`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._mobilenet_v2 import MobileNetV2 as MobileNetV2
from podium.applications._preprocessing import preprocess_tf as preprocess_input
