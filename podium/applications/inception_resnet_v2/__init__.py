"""`applications.inception_resnet_v2`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._inception_resnet_v2 import CustomScaleLayer as CustomScaleLayer
from podium.applications._inception_resnet_v2 import InceptionResNetV2 as InceptionResNetV2
from podium.applications._preprocessing import preprocess_tf as preprocess_input
