"""Running scripts that were written for TensorFlow and Keras: their names, and the imports that
find them here.
"""

from podium.compat._import_hook import install as install
from podium.compat._import_hook import uninstall as uninstall
