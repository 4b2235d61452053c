"""Running scripts that were written for TensorFlow and Keras: their names, and the imports that
find them here.
"""

from podium.compat._finder import install as install
from podium.compat._finder import uninstall as uninstall
