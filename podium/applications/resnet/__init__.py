"""`applications.resnet`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._preprocessing import preprocess_caffe as preprocess_input
from podium.applications._resnet import ResNet50 as ResNet50
from podium.applications._resnet import ResNet101 as ResNet101
from podium.applications._resnet import ResNet152 as ResNet152
