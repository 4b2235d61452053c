"""`applications.efficientnet`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._efficientnet import EfficientNetB0 as EfficientNetB0
from podium.applications._efficientnet import EfficientNetB1 as EfficientNetB1
from podium.applications._efficientnet import EfficientNetB2 as EfficientNetB2
from podium.applications._efficientnet import EfficientNetB3 as EfficientNetB3
from podium.applications._efficientnet import EfficientNetB4 as EfficientNetB4
from podium.applications._efficientnet import EfficientNetB5 as EfficientNetB5
from podium.applications._efficientnet import EfficientNetB6 as EfficientNetB6
from podium.applications._efficientnet import EfficientNetB7 as EfficientNetB7
from podium.applications._preprocessing import return_unchanged as preprocess_input
