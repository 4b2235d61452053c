"""`applications.convnext`: its models, and preprocessing and decoding for them."""

from podium.applications._class_names import decode_predictions as decode_predictions
from podium.applications._convnext import ConvNeXtBase as ConvNeXtBase
from podium.applications._convnext import ConvNeXtLarge as ConvNeXtLarge
from podium.applications._convnext import ConvNeXtSmall as ConvNeXtSmall
from podium.applications._convnext import ConvNeXtTiny as ConvNeXtTiny
from podium.applications._convnext import ConvNeXtXLarge as ConvNeXtXLarge
from podium.applications._convnext import LayerScale as LayerScale
from podium.applications._convnext import StochasticDepth as StochasticDepth
from podium.applications._preprocessing import return_unchanged as preprocess_input
