"""`applications.densenet`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._densenet import DenseNet121 as DenseNet121
from podium.applications._densenet import DenseNet169 as DenseNet169
from podium.applications._densenet import DenseNet201 as DenseNet201
from podium.applications._preprocessing import preprocess_torch as preprocess_input
