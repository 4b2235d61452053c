"""Records what Keras 3 does with the cases of `quantize_cases.py`.

KERAS_BACKEND=jax python tests/oracle/record_quantize.py --out tests/oracle/fixtures
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import keras
import name_cases
import quantize_cases

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    results = {case.__name__: name_cases.run(case, keras) for case in quantize_cases.CASES}
    path = parser.parse_args().out / "quantize.json"
    path.write_text(json.dumps(results, separators=(",", ":")) + "\n")
