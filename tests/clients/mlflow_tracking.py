"""MLflow with a local store: autolog, MlflowCallback and log_model, read back by its client."""

import tempfile

import keras
import mlflow
import mlflow.keras
import mlflow.tensorflow
import numpy as np

X = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")


def make_model():
    """A compiled linear model."""
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    return model


with tempfile.TemporaryDirectory() as folder:
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.create_experiment("podium", artifact_location=f"file://{folder}/artifacts")
    mlflow.set_experiment("podium")
    client = mlflow.MlflowClient()
    with mlflow.start_run() as run:
        model = make_model()
        model.fit(X, X[:, :1], epochs=2, verbose=0, callbacks=[mlflow.keras.MlflowCallback(run)])
        info = mlflow.keras.log_model(model, name="model")
    metrics = client.get_run(run.info.run_id).data.metrics
    assert {"loss", "mae"} <= set(metrics), metrics
    loaded = mlflow.keras.load_model(info.model_uri)
    np.testing.assert_array_equal(model.predict(X, verbose=0), loaded.predict(X, verbose=0))
    print(f"MlflowCallback and log_model: loss {metrics['loss']:.4f}, same predictions")
    mlflow.keras.autolog(log_models=False)
    with mlflow.start_run() as run:
        make_model().fit(X, X[:, :1], epochs=2, verbose=0)
    data = client.get_run(run.info.run_id).data
    assert "loss" in data.metrics and data.params, data
    print(f"autolog: {len(data.params)} parameters, loss {data.metrics['loss']:.4f}")
