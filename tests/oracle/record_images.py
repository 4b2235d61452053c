"""Records what Keras 3 does with the cases of `image_cases.py`.

KERAS_BACKEND=jax python tests/oracle/record_images.py --out tests/oracle/fixtures
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import image_cases
import keras
import numpy as np

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    folder = parser.parse_args().out
    arrays, configs = {}, {}
    for name, case in image_cases.CASES.items():
        layer = image_cases.make_layer(case, keras.layers)
        results = image_cases.run(case, layer, keras.ops.convert_to_tensor)
        arrays |= {f"{name}:{key}": np.asarray(value) for key, value in results.items()}
        configs[name] = layer.get_config()
    boxes = image_cases.run_box_functions(keras.utils.bounding_boxes)
    arrays |= {f"boxes:{name}": np.asarray(value) for name, value in boxes.items()}
    np.savez_compressed(folder / "images.npz", **arrays)
    (folder / "images.json").write_text(json.dumps(configs, indent=1) + "\n")
