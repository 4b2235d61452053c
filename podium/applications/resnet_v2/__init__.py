"""`applications.resnet_v2`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._preprocessing import preprocess_tf as preprocess_input
from podium.applications._resnet_v2 import ResNet50V2 as ResNet50V2
from podium.applications._resnet_v2 import ResNet101V2 as ResNet101V2
from podium.applications._resnet_v2 import ResNet152V2 as ResNet152V2
