"""`applications.efficientnet_v2`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._efficientnet_v2 import EfficientNetV2B0 as EfficientNetV2B0
from podium.applications._efficientnet_v2 import EfficientNetV2B1 as EfficientNetV2B1
from podium.applications._efficientnet_v2 import EfficientNetV2B2 as EfficientNetV2B2
from podium.applications._efficientnet_v2 import EfficientNetV2B3 as EfficientNetV2B3
from podium.applications._efficientnet_v2 import EfficientNetV2L as EfficientNetV2L
from podium.applications._efficientnet_v2 import EfficientNetV2M as EfficientNetV2M
from podium.applications._efficientnet_v2 import EfficientNetV2S as EfficientNetV2S
from podium.applications._preprocessing import return_unchanged as preprocess_input
