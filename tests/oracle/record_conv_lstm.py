"""Records what Keras 3 (on JAX) computes for the cases of `conv_lstm_cases.py`.

KERAS_BACKEND=jax python tests/oracle/record_conv_lstm.py --out tests/oracle/fixtures
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import record
from building import Writer
from conv_lstm_cases import CASES

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    writer = Writer()
    about = {"oracle": f"keras {record.keras.__version__} on jax {record.jax.__version__}"}
    results = {case.id: record.record_layer(case, writer.put) for case in CASES}
    writer.save("conv_lstm", {"about": about, **results}, parser.parse_args().out)
