"""`tf.nn`."""

from podium.compat._missing_names import nn as __getattr__
from podium.compat.tensorflow._sorting import in_top_k as in_top_k
from podium.compat.tensorflow._sorting import top_k as top_k
from podium.compat.tensorflow.linalg._norms import l2_normalize as l2_normalize
from podium.compat.tensorflow.math._exponential import sigmoid as sigmoid
from podium.compat.tensorflow.math._exponential import softplus as softplus
from podium.compat.tensorflow.math._exponential import softsign as softsign
from podium.compat.tensorflow.math._reduce import zero_fraction as zero_fraction
from podium.compat.tensorflow.math._trigonometric import tanh as tanh
from podium.compat.tensorflow.nn._activations import crelu as crelu
from podium.compat.tensorflow.nn._activations import dropout as dropout
from podium.compat.tensorflow.nn._activations import elu as elu
from podium.compat.tensorflow.nn._activations import gelu as gelu
from podium.compat.tensorflow.nn._activations import leaky_relu as leaky_relu
from podium.compat.tensorflow.nn._activations import log_softmax as log_softmax
from podium.compat.tensorflow.nn._activations import relu as relu
from podium.compat.tensorflow.nn._activations import relu6 as relu6
from podium.compat.tensorflow.nn._activations import selu as selu
from podium.compat.tensorflow.nn._activations import silu as silu
from podium.compat.tensorflow.nn._activations import softmax as softmax
from podium.compat.tensorflow.nn._activations import swish as swish
from podium.compat.tensorflow.nn._conv_pool import avg_pool as avg_pool
from podium.compat.tensorflow.nn._conv_pool import avg_pool1d as avg_pool1d
from podium.compat.tensorflow.nn._conv_pool import avg_pool2d as avg_pool2d
from podium.compat.tensorflow.nn._conv_pool import conv1d as conv1d
from podium.compat.tensorflow.nn._conv_pool import conv2d as conv2d
from podium.compat.tensorflow.nn._conv_pool import conv2d_transpose as conv2d_transpose
from podium.compat.tensorflow.nn._conv_pool import conv3d as conv3d
from podium.compat.tensorflow.nn._conv_pool import depthwise_conv2d as depthwise_conv2d
from podium.compat.tensorflow.nn._conv_pool import max_pool as max_pool
from podium.compat.tensorflow.nn._conv_pool import max_pool1d as max_pool1d
from podium.compat.tensorflow.nn._conv_pool import max_pool2d as max_pool2d
from podium.compat.tensorflow.nn._distributed_losses import (
    compute_average_loss as compute_average_loss,
)
from podium.compat.tensorflow.nn._distributed_losses import (
    scale_regularization_loss as scale_regularization_loss,
)
from podium.compat.tensorflow.nn._layer_functions import batch_normalization as batch_normalization
from podium.compat.tensorflow.nn._layer_functions import bias_add as bias_add
from podium.compat.tensorflow.nn._layer_functions import depth_to_space as depth_to_space
from podium.compat.tensorflow.nn._layer_functions import embedding_lookup as embedding_lookup
from podium.compat.tensorflow.nn._layer_functions import moments as moments
from podium.compat.tensorflow.nn._layer_functions import space_to_depth as space_to_depth
from podium.compat.tensorflow.nn._losses import l2_loss as l2_loss
from podium.compat.tensorflow.nn._losses import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
)
from podium.compat.tensorflow.nn._losses import (
    softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
)
from podium.compat.tensorflow.nn._losses import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from podium.compat.tensorflow.nn._losses import (
    weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
)
