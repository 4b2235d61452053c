"""Layers: computations with weights."""

from podium.layers import experimental as experimental
from podium.layers._input_spec import InputSpec as InputSpec
from podium.layers._keras_operation import Operation as Operation
from podium.layers._layer import Layer as Layer
from podium.layers._layer_serialization import deserialize as deserialize
from podium.layers._layer_serialization import serialize as serialize
from podium.layers.activations._activation import Activation as Activation
from podium.layers.activations._relu import ELU as ELU
from podium.layers.activations._relu import LeakyReLU as LeakyReLU
from podium.layers.activations._relu import PReLU as PReLU
from podium.layers.activations._relu import ReLU as ReLU
from podium.layers.activations._softmax import Softmax as Softmax
from podium.layers.attention._attention import AdditiveAttention as AdditiveAttention
from podium.layers.attention._attention import Attention as Attention
from podium.layers.attention._multi_head_attention import (
    GroupedQueryAttention as GroupedQueryAttention,
)
from podium.layers.attention._multi_head_attention import GroupQueryAttention as GroupQueryAttention
from podium.layers.attention._multi_head_attention import MultiHeadAttention as MultiHeadAttention
from podium.layers.convolutional._convolution import Conv1D as Conv1D
from podium.layers.convolutional._convolution import Conv2D as Conv2D
from podium.layers.convolutional._convolution import Conv3D as Conv3D
from podium.layers.convolutional._convolution import Convolution1D as Convolution1D
from podium.layers.convolutional._convolution import Convolution2D as Convolution2D
from podium.layers.convolutional._convolution import Convolution3D as Convolution3D
from podium.layers.convolutional._convolution_transpose import Conv1DTranspose as Conv1DTranspose
from podium.layers.convolutional._convolution_transpose import Conv2DTranspose as Conv2DTranspose
from podium.layers.convolutional._convolution_transpose import Conv3DTranspose as Conv3DTranspose
from podium.layers.convolutional._convolution_transpose import (
    Convolution1DTranspose as Convolution1DTranspose,
)
from podium.layers.convolutional._convolution_transpose import (
    Convolution2DTranspose as Convolution2DTranspose,
)
from podium.layers.convolutional._convolution_transpose import (
    Convolution3DTranspose as Convolution3DTranspose,
)
from podium.layers.convolutional._separable import DepthwiseConv1D as DepthwiseConv1D
from podium.layers.convolutional._separable import DepthwiseConv2D as DepthwiseConv2D
from podium.layers.convolutional._separable import SeparableConv1D as SeparableConv1D
from podium.layers.convolutional._separable import SeparableConv2D as SeparableConv2D
from podium.layers.convolutional._separable import SeparableConvolution1D as SeparableConvolution1D
from podium.layers.convolutional._separable import SeparableConvolution2D as SeparableConvolution2D
from podium.layers.core._dense import Dense as Dense
from podium.layers.core._einsum_dense import EinsumDense as EinsumDense
from podium.layers.core._embedding import Embedding as Embedding
from podium.layers.core._identity import Identity as Identity
from podium.layers.core._input import Input as Input
from podium.layers.core._input import InputLayer as InputLayer
from podium.layers.core._lambda import Lambda as Lambda
from podium.layers.core._masking import Masking as Masking
from podium.layers.core._reversible_embedding import ReversibleEmbedding as ReversibleEmbedding
from podium.layers.core._wrapper import Wrapper as Wrapper
from podium.layers.merging._merging import Add as Add
from podium.layers.merging._merging import Average as Average
from podium.layers.merging._merging import Concatenate as Concatenate
from podium.layers.merging._merging import Dot as Dot
from podium.layers.merging._merging import Maximum as Maximum
from podium.layers.merging._merging import Minimum as Minimum
from podium.layers.merging._merging import Multiply as Multiply
from podium.layers.merging._merging import Subtract as Subtract
from podium.layers.merging._merging import add as add
from podium.layers.merging._merging import average as average
from podium.layers.merging._merging import concatenate as concatenate
from podium.layers.merging._merging import dot as dot
from podium.layers.merging._merging import maximum as maximum
from podium.layers.merging._merging import minimum as minimum
from podium.layers.merging._merging import multiply as multiply
from podium.layers.merging._merging import subtract as subtract
from podium.layers.normalization._batch_normalization import (
    BatchNormalization as BatchNormalization,
)
from podium.layers.normalization._layer_normalization import (
    GroupNormalization as GroupNormalization,
)
from podium.layers.normalization._layer_normalization import (
    LayerNormalization as LayerNormalization,
)
from podium.layers.normalization._layer_normalization import RMSNormalization as RMSNormalization
from podium.layers.normalization._layer_normalization import (
    SpectralNormalization as SpectralNormalization,
)
from podium.layers.normalization._layer_normalization import UnitNormalization as UnitNormalization
from podium.layers.pooling._pooling import AdaptiveAveragePooling1D as AdaptiveAveragePooling1D
from podium.layers.pooling._pooling import AdaptiveAveragePooling2D as AdaptiveAveragePooling2D
from podium.layers.pooling._pooling import AdaptiveAveragePooling3D as AdaptiveAveragePooling3D
from podium.layers.pooling._pooling import AdaptiveMaxPooling1D as AdaptiveMaxPooling1D
from podium.layers.pooling._pooling import AdaptiveMaxPooling2D as AdaptiveMaxPooling2D
from podium.layers.pooling._pooling import AdaptiveMaxPooling3D as AdaptiveMaxPooling3D
from podium.layers.pooling._pooling import AveragePooling1D as AveragePooling1D
from podium.layers.pooling._pooling import AveragePooling2D as AveragePooling2D
from podium.layers.pooling._pooling import AveragePooling3D as AveragePooling3D
from podium.layers.pooling._pooling import AvgPool1D as AvgPool1D
from podium.layers.pooling._pooling import AvgPool2D as AvgPool2D
from podium.layers.pooling._pooling import AvgPool3D as AvgPool3D
from podium.layers.pooling._pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from podium.layers.pooling._pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from podium.layers.pooling._pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from podium.layers.pooling._pooling import GlobalAvgPool1D as GlobalAvgPool1D
from podium.layers.pooling._pooling import GlobalAvgPool2D as GlobalAvgPool2D
from podium.layers.pooling._pooling import GlobalAvgPool3D as GlobalAvgPool3D
from podium.layers.pooling._pooling import GlobalMaxPool1D as GlobalMaxPool1D
from podium.layers.pooling._pooling import GlobalMaxPool2D as GlobalMaxPool2D
from podium.layers.pooling._pooling import GlobalMaxPool3D as GlobalMaxPool3D
from podium.layers.pooling._pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from podium.layers.pooling._pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from podium.layers.pooling._pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from podium.layers.pooling._pooling import MaxPool1D as MaxPool1D
from podium.layers.pooling._pooling import MaxPool2D as MaxPool2D
from podium.layers.pooling._pooling import MaxPool3D as MaxPool3D
from podium.layers.pooling._pooling import MaxPooling1D as MaxPooling1D
from podium.layers.pooling._pooling import MaxPooling2D as MaxPooling2D
from podium.layers.pooling._pooling import MaxPooling3D as MaxPooling3D
from podium.layers.preprocessing._category_encoding import CategoryEncoding as CategoryEncoding
from podium.layers.preprocessing._discretization import Discretization as Discretization
from podium.layers.preprocessing._hashed_crossing import HashedCrossing as HashedCrossing
from podium.layers.preprocessing._hashing import Hashing as Hashing
from podium.layers.preprocessing._layer_pipeline import Pipeline as Pipeline
from podium.layers.preprocessing._lookup_layers import IntegerLookup as IntegerLookup
from podium.layers.preprocessing._lookup_layers import StringLookup as StringLookup
from podium.layers.preprocessing._mel_spectrogram import MelSpectrogram as MelSpectrogram
from podium.layers.preprocessing._normalization import Normalization as Normalization
from podium.layers.preprocessing._rescaling import Rescaling as Rescaling
from podium.layers.preprocessing._stft_spectrogram import STFTSpectrogram as STFTSpectrogram
from podium.layers.preprocessing._text_vectorization import TextVectorization as TextVectorization
from podium.layers.preprocessing.image._affine_layers import RandomRotation as RandomRotation
from podium.layers.preprocessing.image._affine_layers import RandomShear as RandomShear
from podium.layers.preprocessing.image._affine_layers import RandomTranslation as RandomTranslation
from podium.layers.preprocessing.image._affine_layers import RandomZoom as RandomZoom
from podium.layers.preprocessing.image._augmentation_policies import AugMix as AugMix
from podium.layers.preprocessing.image._augmentation_policies import RandAugment as RandAugment
from podium.layers.preprocessing.image._brightness import RandomBrightness as RandomBrightness
from podium.layers.preprocessing.image._brightness import RandomContrast as RandomContrast
from podium.layers.preprocessing.image._clahe import (
    ContrastLimitedAdaptiveHistogramEqualization as ContrastLimitedAdaptiveHistogramEqualization,
)
from podium.layers.preprocessing.image._color_jitter import RandomColorJitter as RandomColorJitter
from podium.layers.preprocessing.image._erasing import RandomErasing as RandomErasing
from podium.layers.preprocessing.image._flipping import RandomFlip as RandomFlip
from podium.layers.preprocessing.image._grayscale import (
    RandomColorDegeneration as RandomColorDegeneration,
)
from podium.layers.preprocessing.image._grayscale import RandomGrayscale as RandomGrayscale
from podium.layers.preprocessing.image._histograms import AutoContrast as AutoContrast
from podium.layers.preprocessing.image._histograms import Equalization as Equalization
from podium.layers.preprocessing.image._hue_saturation import RandomHue as RandomHue
from podium.layers.preprocessing.image._hue_saturation import RandomSaturation as RandomSaturation
from podium.layers.preprocessing.image._max_num_boxes import (
    MaxNumBoundingBoxes as MaxNumBoundingBoxes,
)
from podium.layers.preprocessing.image._mixing import CutMix as CutMix
from podium.layers.preprocessing.image._mixing import MixUp as MixUp
from podium.layers.preprocessing.image._perspective import (
    RandomElasticTransform as RandomElasticTransform,
)
from podium.layers.preprocessing.image._perspective import RandomPerspective as RandomPerspective
from podium.layers.preprocessing.image._pixel_values import RandomInvert as RandomInvert
from podium.layers.preprocessing.image._pixel_values import (
    RandomPosterization as RandomPosterization,
)
from podium.layers.preprocessing.image._pixel_values import Solarization as Solarization
from podium.layers.preprocessing.image._random_crop import RandomCrop as RandomCrop
from podium.layers.preprocessing.image._resizing import CenterCrop as CenterCrop
from podium.layers.preprocessing.image._resizing import Resizing as Resizing
from podium.layers.preprocessing.image._sharpness import RandomGaussianBlur as RandomGaussianBlur
from podium.layers.preprocessing.image._sharpness import RandomSharpness as RandomSharpness
from podium.layers.regularization._activity_regularization import (
    ActivityRegularization as ActivityRegularization,
)
from podium.layers.regularization._dropout import AlphaDropout as AlphaDropout
from podium.layers.regularization._dropout import Dropout as Dropout
from podium.layers.regularization._dropout import GaussianDropout as GaussianDropout
from podium.layers.regularization._dropout import GaussianNoise as GaussianNoise
from podium.layers.regularization._dropout import SpatialDropout1D as SpatialDropout1D
from podium.layers.regularization._dropout import SpatialDropout2D as SpatialDropout2D
from podium.layers.regularization._dropout import SpatialDropout3D as SpatialDropout3D
from podium.layers.reshaping._padding import Cropping1D as Cropping1D
from podium.layers.reshaping._padding import Cropping2D as Cropping2D
from podium.layers.reshaping._padding import Cropping3D as Cropping3D
from podium.layers.reshaping._padding import UpSampling1D as UpSampling1D
from podium.layers.reshaping._padding import UpSampling2D as UpSampling2D
from podium.layers.reshaping._padding import UpSampling3D as UpSampling3D
from podium.layers.reshaping._padding import ZeroPadding1D as ZeroPadding1D
from podium.layers.reshaping._padding import ZeroPadding2D as ZeroPadding2D
from podium.layers.reshaping._padding import ZeroPadding3D as ZeroPadding3D
from podium.layers.reshaping._reshaping import Flatten as Flatten
from podium.layers.reshaping._reshaping import Permute as Permute
from podium.layers.reshaping._reshaping import RepeatVector as RepeatVector
from podium.layers.reshaping._reshaping import Reshape as Reshape
from podium.layers.rnn._bidirectional import Bidirectional as Bidirectional
from podium.layers.rnn._conv_lstm import ConvLSTM1D as ConvLSTM1D
from podium.layers.rnn._conv_lstm import ConvLSTM2D as ConvLSTM2D
from podium.layers.rnn._conv_lstm import ConvLSTM3D as ConvLSTM3D
from podium.layers.rnn._gru import GRU as GRU
from podium.layers.rnn._gru import GRUCell as GRUCell
from podium.layers.rnn._lstm import LSTM as LSTM
from podium.layers.rnn._lstm import LSTMCell as LSTMCell
from podium.layers.rnn._rnn import RNN as RNN
from podium.layers.rnn._simple_rnn import SimpleRNN as SimpleRNN
from podium.layers.rnn._simple_rnn import SimpleRNNCell as SimpleRNNCell
from podium.layers.rnn._stacked_cells import StackedRNNCells as StackedRNNCells
from podium.layers.rnn._time_distributed import TimeDistributed as TimeDistributed
from podium.layers.wrapping._equinox_layer import EquinoxLayer as EquinoxLayer
from podium.layers.wrapping._flax_layer import FlaxLayer as FlaxLayer
from podium.layers.wrapping._jax_layer import JaxLayer as JaxLayer
from podium.layers.wrapping._tfsm_layer import TFSMLayer as TFSMLayer
from podium.layers.wrapping._torch_module_wrapper import TorchModuleWrapper as TorchModuleWrapper
