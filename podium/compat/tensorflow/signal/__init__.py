"""`tf.signal`."""

from podium.compat._missing_names import signal as __getattr__
from podium.compat.tensorflow.signal._signal import fft as fft
from podium.compat.tensorflow.signal._signal import fft2d as fft2d
from podium.compat.tensorflow.signal._signal import frame as frame
from podium.compat.tensorflow.signal._signal import hamming_window as hamming_window
from podium.compat.tensorflow.signal._signal import hann_window as hann_window
from podium.compat.tensorflow.signal._signal import ifft as ifft
from podium.compat.tensorflow.signal._signal import ifft2d as ifft2d
from podium.compat.tensorflow.signal._signal import irfft as irfft
from podium.compat.tensorflow.signal._signal import (
    linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
)
from podium.compat.tensorflow.signal._signal import rfft as rfft
from podium.compat.tensorflow.signal._signal import stft as stft
