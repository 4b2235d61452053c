"""What `import keras` finds: Keras 3's version and backend. All other names are those of
`podium.compat.keras`, the same objects.
"""

from podium.compat._keras3_names import __version__ as __version__
from podium.compat._keras3_names import keras_dir as __dir__
from podium.compat._keras3_names import keras_getattr as __getattr__
from podium.compat._keras3_names import version as version
from podium.compat.keras3 import backend as backend
from podium.compat.keras3 import config as config
