"""Records what Keras 3 draws for the cases of `visualization_cases.py`.

KERAS_BACKEND=jax python tests/oracle/record_visualization.py --out tests/oracle/fixtures

Needs the packages that Keras draws with: opencv-python-headless and pydot.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import keras
import visualization_cases

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    cases = visualization_cases.CASES
    results = {case.__name__: visualization_cases.run(case, keras) for case in cases}
    lines = [f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in results.items()]
    path = parser.parse_args().out / "visualization.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
