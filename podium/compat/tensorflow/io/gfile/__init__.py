"""`tf.io.gfile`."""

from podium.compat._missing import gfile as __getattr__
from podium.compat.tensorflow._files import GFile as GFile
from podium.compat.tensorflow._files import copy as copy
from podium.compat.tensorflow._files import exists as exists
from podium.compat.tensorflow._files import glob as glob
from podium.compat.tensorflow._files import isdir as isdir
from podium.compat.tensorflow._files import listdir as listdir
from podium.compat.tensorflow._files import makedirs as makedirs
from podium.compat.tensorflow._files import remove as remove
from podium.compat.tensorflow._files import rename as rename
from podium.compat.tensorflow._files import walk as walk
