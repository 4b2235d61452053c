"""`keras.preprocessing.sequence`."""

from podium.compat.keras._skipgrams import make_sampling_table as make_sampling_table
from podium.compat.keras._skipgrams import skipgrams as skipgrams
from podium.compat.keras.preprocessing._timeseries_generator import (
    TimeseriesGenerator as TimeseriesGenerator,
)
from podium.utils import pad_sequences as pad_sequences
