"""`applications.inception_v3`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._inception_v3 import InceptionV3 as InceptionV3
from podium.applications._preprocessing import preprocess_tf as preprocess_input
