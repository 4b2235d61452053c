"""Records what tf_keras computes for the names of Keras 2 that Keras 3 has not.

It needs SciPy, Pillow and pandas besides tf_keras.

python tests/oracle/record_keras2_names.py --out tests/oracle/fixtures
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import keras2_backend_cases
import keras2_layer_cases
import keras2_preprocessing_cases
import tf_keras
from scipy import ndimage

ndimage.interpolation = ndimage  # where tf_keras looks for it; newer versions of SciPy lack it

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    results = {
        "backend": keras2_backend_cases.run(tf_keras),
        "preprocessing": {
            case.__name__: keras2_preprocessing_cases.run(case, tf_keras)
            for case in keras2_preprocessing_cases.CASES
        },
        "layers": {
            case.__name__: keras2_preprocessing_cases.run(case, tf_keras)
            for case in keras2_layer_cases.CASES
        },
    }
    path = parser.parse_args().out / "keras2_names.json"
    path.write_text(json.dumps(results) + "\n")
