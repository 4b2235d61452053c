"""Runs Keras's own unit tests on Podium: `python -m keras_tests` in the folder `tools`.

The tests are read from an installed Keras and never copied. What they import as `keras.src` is
Podium, with the names that `modules.py` lists and the helpers that `test_case.py` defines.
"""
