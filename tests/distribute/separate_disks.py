"""One worker of a run whose workers have directories of their own, or share one:
separate_disks.py FOLDER STEPS [DELAY] [shared] [killed]

Worker 1 is slower than the chief by DELAY seconds in each step. The run fails after STEPS steps,
without saving; 0 for none, and then resuming is verified. With `killed`, worker 1 is killed there
instead.
"""

import os
import signal
import sys
import time

import numpy as np

import podium

strategy = podium.distribute.MultiWorkerMirroredStrategy()
worker = strategy.cluster.worker
folder, last_step = sys.argv[1], int(sys.argv[2])
delay = float(sys.argv[3]) if len(sys.argv) > 3 else 0.1
disk = "shared disk" if "shared" in sys.argv else f"disk {worker}"
podium.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(32, 3)).astype("float32")
with strategy.scope():
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(1)])
    model.compile("adam", "mse", steps_per_execution=1)


class Slow(podium.callbacks.Callback):
    every_worker = True

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(delay * worker)
        if int(model.optimizer.iterations.numpy()) == last_step:
            if "killed" in sys.argv and worker:
                os.kill(os.getpid(), signal.SIGKILL)
            if "killed" not in sys.argv:
                raise OSError("the machine is gone")


backup = podium.callbacks.BackupAndRestore(
    os.path.join(folder, disk),
    save_freq=2,
    on_exception=False,
    verify_resume=not last_step,
    verbose=worker,
)
model.fit(x, x[:, :1], batch_size=8, epochs=3, verbose=0, callbacks=[backup, Slow()])
print("weights", model.get_weights()[0].tobytes().hex(), flush=True)
