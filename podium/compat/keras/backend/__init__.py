"""`keras.backend`, which Keras 2 scripts call `K`."""

from podium.compat._missing_names import backend as __getattr__
from podium.compat.keras._backend import backend as backend
from podium.compat.keras._backend import batch_flatten as batch_flatten
from podium.compat.keras._backend import batch_get_value as batch_get_value
from podium.compat.keras._backend import batch_set_value as batch_set_value
from podium.compat.keras._backend import constant as constant
from podium.compat.keras._backend import ctc_batch_cost as ctc_batch_cost
from podium.compat.keras._backend import ctc_decode as ctc_decode
from podium.compat.keras._backend import flatten as flatten
from podium.compat.keras._backend import get_uid as get_uid
from podium.compat.keras._backend import get_value as get_value
from podium.compat.keras._backend import int_shape as int_shape
from podium.compat.keras._backend import l2_normalize as l2_normalize
from podium.compat.keras._backend import ndim as ndim
from podium.compat.keras._backend import random_normal as random_normal
from podium.compat.keras._backend import random_uniform as random_uniform
from podium.compat.keras._backend import result_dtype as result_type
from podium.compat.keras._backend import set_value as set_value
from podium.compat.keras._backend import variable as variable
from podium.compat.keras.backend import experimental as experimental
from podium.compat.keras.backend._control_flow import foldl as foldl
from podium.compat.keras.backend._control_flow import foldr as foldr
from podium.compat.keras.backend._control_flow import in_test_phase as in_test_phase
from podium.compat.keras.backend._control_flow import in_train_phase as in_train_phase
from podium.compat.keras.backend._control_flow import learning_phase as learning_phase
from podium.compat.keras.backend._control_flow import learning_phase_scope as learning_phase_scope
from podium.compat.keras.backend._control_flow import map_fn as map_fn
from podium.compat.keras.backend._control_flow import set_learning_phase as set_learning_phase
from podium.compat.keras.backend._control_flow import stop_gradient as stop_gradient
from podium.compat.keras.backend._control_flow import switch as switch
from podium.compat.keras.backend._convolutions import conv1d as conv1d
from podium.compat.keras.backend._convolutions import conv2d as conv2d
from podium.compat.keras.backend._convolutions import conv2d_transpose as conv2d_transpose
from podium.compat.keras.backend._convolutions import conv3d as conv3d
from podium.compat.keras.backend._convolutions import depthwise_conv2d as depthwise_conv2d
from podium.compat.keras.backend._convolutions import local_conv1d as local_conv1d
from podium.compat.keras.backend._convolutions import local_conv2d as local_conv2d
from podium.compat.keras.backend._convolutions import pool2d as pool2d
from podium.compat.keras.backend._convolutions import pool3d as pool3d
from podium.compat.keras.backend._convolutions import separable_conv2d as separable_conv2d
from podium.compat.keras.backend._creation import arange as arange
from podium.compat.keras.backend._creation import cast_to_floatx as cast_to_floatx
from podium.compat.keras.backend._creation import count_params as count_params
from podium.compat.keras.backend._creation import eye as eye
from podium.compat.keras.backend._creation import is_sparse as is_sparse
from podium.compat.keras.backend._creation import ones as ones
from podium.compat.keras.backend._creation import ones_like as ones_like
from podium.compat.keras.backend._creation import placeholder as placeholder
from podium.compat.keras.backend._creation import to_dense as to_dense
from podium.compat.keras.backend._creation import zeros as zeros
from podium.compat.keras.backend._creation import zeros_like as zeros_like
from podium.compat.keras.backend._elementwise import bias_add as bias_add
from podium.compat.keras.backend._elementwise import clip as clip
from podium.compat.keras.backend._elementwise import elu as elu
from podium.compat.keras.backend._elementwise import equal as equal
from podium.compat.keras.backend._elementwise import greater as greater
from podium.compat.keras.backend._elementwise import greater_equal as greater_equal
from podium.compat.keras.backend._elementwise import hard_sigmoid as hard_sigmoid
from podium.compat.keras.backend._elementwise import less as less
from podium.compat.keras.backend._elementwise import less_equal as less_equal
from podium.compat.keras.backend._elementwise import maximum as maximum
from podium.compat.keras.backend._elementwise import minimum as minimum
from podium.compat.keras.backend._elementwise import not_equal as not_equal
from podium.compat.keras.backend._elementwise import pow as pow
from podium.compat.keras.backend._elementwise import relu as relu
from podium.compat.keras.backend._elementwise import softmax as softmax
from podium.compat.keras.backend._elementwise import sqrt as sqrt
from podium.compat.keras.backend._functions import clear_session as clear_session
from podium.compat.keras.backend._functions import (
    ctc_label_dense_to_sparse as ctc_label_dense_to_sparse,
)
from podium.compat.keras.backend._functions import eval as eval
from podium.compat.keras.backend._functions import function as function
from podium.compat.keras.backend._functions import gradients as gradients
from podium.compat.keras.backend._functions import (
    manual_variable_initialization as manual_variable_initialization,
)
from podium.compat.keras.backend._functions import print_tensor as print_tensor
from podium.compat.keras.backend._functions import reset_uids as reset_uids
from podium.compat.keras.backend._losses import binary_crossentropy as binary_crossentropy
from podium.compat.keras.backend._losses import (
    binary_focal_crossentropy as binary_focal_crossentropy,
)
from podium.compat.keras.backend._losses import categorical_crossentropy as categorical_crossentropy
from podium.compat.keras.backend._losses import (
    categorical_focal_crossentropy as categorical_focal_crossentropy,
)
from podium.compat.keras.backend._losses import (
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from podium.compat.keras.backend._normalization import batch_normalization as batch_normalization
from podium.compat.keras.backend._normalization import (
    moving_average_update as moving_average_update,
)
from podium.compat.keras.backend._normalization import (
    normalize_batch_in_training as normalize_batch_in_training,
)
from podium.compat.keras.backend._normalization import update as update
from podium.compat.keras.backend._normalization import update_add as update_add
from podium.compat.keras.backend._normalization import update_sub as update_sub
from podium.compat.keras.backend._products import argmax as argmax
from podium.compat.keras.backend._products import argmin as argmin
from podium.compat.keras.backend._products import batch_dot as batch_dot
from podium.compat.keras.backend._products import cumprod as cumprod
from podium.compat.keras.backend._products import cumsum as cumsum
from podium.compat.keras.backend._products import dot as dot
from podium.compat.keras.backend._products import in_top_k as in_top_k
from podium.compat.keras.backend._random import dropout as dropout
from podium.compat.keras.backend._random import random_bernoulli as random_bernoulli
from podium.compat.keras.backend._random import random_binomial as random_binomial
from podium.compat.keras.backend._random import random_normal_variable as random_normal_variable
from podium.compat.keras.backend._random import random_uniform_variable as random_uniform_variable
from podium.compat.keras.backend._random import truncated_normal as truncated_normal
from podium.compat.keras.backend._recurrent import rnn as rnn
from podium.compat.keras.backend._shapes import concatenate as concatenate
from podium.compat.keras.backend._shapes import expand_dims as expand_dims
from podium.compat.keras.backend._shapes import gather as gather
from podium.compat.keras.backend._shapes import one_hot as one_hot
from podium.compat.keras.backend._shapes import permute_dimensions as permute_dimensions
from podium.compat.keras.backend._shapes import repeat as repeat
from podium.compat.keras.backend._shapes import repeat_elements as repeat_elements
from podium.compat.keras.backend._shapes import reshape as reshape
from podium.compat.keras.backend._shapes import resize_images as resize_images
from podium.compat.keras.backend._shapes import resize_volumes as resize_volumes
from podium.compat.keras.backend._shapes import reverse as reverse
from podium.compat.keras.backend._shapes import spatial_2d_padding as spatial_2d_padding
from podium.compat.keras.backend._shapes import spatial_3d_padding as spatial_3d_padding
from podium.compat.keras.backend._shapes import temporal_padding as temporal_padding
from podium.compat.keras.backend._shapes import tile as tile
from podium.compat.keras.backend._shapes import transpose as transpose
from podium.core import epsilon as epsilon
from podium.core import floatx as floatx
from podium.core import image_data_format as image_data_format
from podium.core import is_float_dtype as is_float_dtype
from podium.core import is_int_dtype as is_int_dtype
from podium.core import is_keras_tensor as is_keras_tensor
from podium.core import is_tensor as is_tensor
from podium.core import name_scope as name_scope
from podium.core import set_epsilon as set_epsilon
from podium.core import set_floatx as set_floatx
from podium.core import set_image_data_format as set_image_data_format
from podium.core import standardize_dtype as standardize_dtype
from podium.ops import abs as abs
from podium.ops import all as all
from podium.ops import any as any
from podium.ops import cast as cast
from podium.ops import cos as cos
from podium.ops import dtype as dtype
from podium.ops import exp as exp
from podium.ops import log as log
from podium.ops import max as max
from podium.ops import mean as mean
from podium.ops import min as min
from podium.ops import prod as prod
from podium.ops import round as round
from podium.ops import shape as shape
from podium.ops import sigmoid as sigmoid
from podium.ops import sign as sign
from podium.ops import sin as sin
from podium.ops import softplus as softplus
from podium.ops import softsign as softsign
from podium.ops import square as square
from podium.ops import squeeze as squeeze
from podium.ops import stack as stack
from podium.ops import std as std
from podium.ops import sum as sum
from podium.ops import tanh as tanh
from podium.ops import var as var
