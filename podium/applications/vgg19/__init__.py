"""`applications.vgg19`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._preprocessing import preprocess_caffe as preprocess_input
from podium.applications._vgg import VGG19 as VGG19
