"""`applications.nasnet`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._nasnet import NASNetLarge as NASNetLarge
from podium.applications._nasnet import NASNetMobile as NASNetMobile
from podium.applications._preprocessing import preprocess_tf as preprocess_input
