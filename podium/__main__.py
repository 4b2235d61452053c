"""`python -m podium script.py`: runs a TensorFlow or Keras script on Podium, unmodified."""

import sys

from podium.compat._runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
