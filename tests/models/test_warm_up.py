"""Compiling in advance: no state changes, and the first step compiles nothing."""

import jax
import numpy as np
import pytest

import podium

RNG = np.random.default_rng(0)
X = RNG.normal(size=(22, 4)).astype("float32")
Y = X[:, :1]
SPECS = podium.TensorSpec((None, 4)), podium.TensorSpec((None, 1))


def model_with_state(cls=podium.Sequential, **options):
    podium.core.reset_names()
    podium.utils.set_random_seed(1)
    layers = podium.layers
    model = cls(
        [
            podium.Input((4,)),
            layers.Dense(3),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse", metrics=["mae"], **options)
    return model


class Clipped(podium.Sequential):
    """A train_step of its own, with logs that are averaged."""

    def train_step(self, data):
        x, y = data
        with podium.GradientTape() as tape:
            loss = podium.ops.mean((self(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(
            [podium.ops.clip(g, -1.0, 1.0) for g in gradients], self.trainable_variables
        )
        return {"own": loss}


def state(model):
    everything = [
        *model.variables,
        *model.optimizer.variables,
        *[v for m in model.metrics for v in m.variables],
    ]
    return [variable.numpy().copy() for variable in everything]


class Compiled:
    """Counts what XLA compiles for steps."""

    def __enter__(self):
        self.names = []
        self._open = True
        jax.monitoring.register_event_duration_secs_listener(self._note)
        return self

    def _note(self, event, seconds, **details):
        if (
            self._open
            and event.endswith("backend_compile_duration")
            and "step" in str(details.get("fun_name"))
        ):
            self.names.append(details["fun_name"])

    def __exit__(self, *_):
        self._open = False


@pytest.mark.parametrize("cls", [podium.Sequential, Clipped])
@pytest.mark.parametrize("fused", ["auto", 2])
def test_fit_after_warm_up_compiles_nothing_and_gives_the_same_weights(cls, fused):
    plain = model_with_state(cls, steps_per_execution=fused)
    with Compiled() as compiled:
        expected = plain.fit(X, Y, batch_size=4, epochs=2, verbose=0).history
    assert len(compiled.names) == 2
    model = model_with_state(cls, steps_per_execution=fused)
    seconds = model.warm_up(X, Y, batch_size=4)
    assert list(seconds) == ["train", "test", "predict"] and min(seconds.values()) > 0
    programs = [
        f.trace_count for f in (model.train_function, model.test_function, model.predict_function)
    ]
    assert programs == [2, 2, 2]  # and the last, smaller batch
    with Compiled() as compiled:
        assert model.fit(X, Y, batch_size=4, epochs=2, verbose=0).history == expected
        model.evaluate(X, Y, batch_size=4, verbose=0)
        model.predict(X, batch_size=4, verbose=0)
    assert compiled.names == []
    assert [
        f.trace_count for f in (model.train_function, model.test_function, model.predict_function)
    ] == programs
    assert len(model.train_function.recompilations) == 0  # they were asked for


def test_warm_up_changes_no_state():
    model = model_with_state()
    model.fit(X, Y, batch_size=4, verbose=0)
    before, seed = (
        state(model),
        podium.random.normal((2,), seed=podium.random.SeedGenerator(3)).numpy(),
    )
    counters = [int(getattr(model, f"_{kind}_counter")) for kind in ("train", "test", "predict")]
    model.warm_up(X[:7], Y[:7], batch_size=7)
    for ours, theirs in zip(state(model), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert [
        int(getattr(model, f"_{kind}_counter")) for kind in ("train", "test", "predict")
    ] == counters
    np.testing.assert_array_equal(
        podium.random.normal((2,), seed=podium.random.SeedGenerator(3)).numpy(), seed
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": SPECS[0], "y": SPECS[1], "batch_size": 11},
        {"x": podium.TensorSpec((11, 4)), "y": podium.TensorSpec((11, 1))},
        {
            "x": jax.ShapeDtypeStruct((11, 4), "float32"),
            "y": jax.ShapeDtypeStruct((11, 1), "float32"),
        },
        {"x": podium.data.Dataset.from_tensor_slices((X, Y)).batch(11)},
    ],
    ids=["specs", "specs_with_a_batch_size", "jax_specs", "dataset"],
)
def test_shapes_from_specs_and_datasets(arguments):
    model = model_with_state()
    model.warm_up(**arguments, kinds=("train",))
    assert model.train_function.trace_count == 1 and model.test_function is None
    with Compiled() as compiled:
        model.fit(X, Y, batch_size=11, verbose=0)
    assert compiled.names == [] and model.train_function.trace_count == 1


def test_warm_up_builds_a_model_like_its_first_batch():
    class Late(podium.Model):
        def __init__(self):
            super().__init__()
            self.dense = podium.layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs["a"]) + self.dense(inputs["b"])

    losses = []
    for warm in (False, True):
        podium.core.reset_names()
        podium.utils.set_random_seed(2)
        model = Late()
        model.compile("sgd", "mse")
        if warm:
            model.warm_up(
                {"a": SPECS[0], "b": SPECS[0]},
                SPECS[1],
                podium.TensorSpec((None,)),
                batch_size=11,
                kinds="train",
            )
        data = {"a": X, "b": 2 * X}
        losses.append(
            model.fit(data, Y, sample_weight=np.ones(22), batch_size=11, verbose=0).history["loss"]
        )
        assert model.train_function.trace_count == 1
    assert losses[0] == losses[1]


def test_invalid_arguments_raise():
    model = model_with_state()
    with pytest.raises(ValueError, match=r"all but the first.*TensorSpec\(\(None, 8\)\)"):
        model.warm_up(podium.TensorSpec((None, None)), SPECS[1])
    with pytest.raises(ValueError, match="Did you mean 'train'"):
        model.warm_up(*SPECS, kinds="trian")
    with pytest.raises(TypeError, match="read only once"):
        model.warm_up(iter([(X, Y)]))
    with pytest.raises(ValueError, match="no target"):
        model.warm_up(SPECS[0])
    with pytest.raises(RuntimeError, match="compile your model"):
        podium.Sequential([podium.Input((4,)), podium.layers.Dense(1)]).warm_up(*SPECS)


def test_eager_steps_are_not_compiled():
    model = model_with_state(run_eagerly=True)
    model.warm_up(*SPECS)
    assert model.train_function.trace_count == 0
