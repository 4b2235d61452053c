"""`tf.io.gfile`."""

from podium.compat._missing_names import gfile as __getattr__
from podium.compat.tensorflow.io._gfile import GFile as GFile
from podium.compat.tensorflow.io._gfile import copy as copy
from podium.compat.tensorflow.io._gfile import exists as exists
from podium.compat.tensorflow.io._gfile import glob as glob
from podium.compat.tensorflow.io._gfile import isdir as isdir
from podium.compat.tensorflow.io._gfile import listdir as listdir
from podium.compat.tensorflow.io._gfile import makedirs as makedirs
from podium.compat.tensorflow.io._gfile import remove as remove
from podium.compat.tensorflow.io._gfile import rename as rename
from podium.compat.tensorflow.io._gfile import walk as walk
