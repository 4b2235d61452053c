"""`applications.xception`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._preprocessing import preprocess_tf as preprocess_input
from podium.applications._xception import Xception as Xception
