"""function: state of compiled functions, retracing, errors, and the transaction of a step."""

import gc
import signal
import threading
import time
import weakref

import jax
import numpy as np
import pytest

import podium
from podium import ops


def test_function_finds_variables_in_any_object():
    module_level = podium.Variable(1.0)

    class Holder:
        def __init__(self):
            self.hidden = podium.Variable(10.0)

    holder, in_dict = Holder(), {"deep": [podium.Variable(100.0)]}

    @podium.function
    def step(x):
        module_level.assign_add(x)
        holder.hidden.assign_add(x)
        return module_level + holder.hidden + in_dict["deep"][0]

    assert [float(step(podium.Tensor(1.0))) for _ in range(3)] == [113.0, 115.0, 117.0]
    assert float(holder.hidden) == 13.0 and step.trace_count == 1


def test_variables_may_be_created_in_the_first_call():
    created = []

    @podium.function
    def step(x):
        if not created:
            created.append(podium.Variable(lambda: ops.ones(3) * 5))
        return created[0].assign_add(x)

    assert step(np.ones(3, "float32")).numpy().tolist() == [6.0] * 3
    assert step(np.ones(3, "float32")).numpy().tolist() == [7.0] * 3


def test_creating_a_variable_in_every_call_raises():
    @podium.function
    def step(x):
        return podium.Variable(0.0, name="fresh").assign_add(x)

    with pytest.raises(ValueError, match=r"`step` creates a new Variable every time.*'fresh'"):
        step(podium.Tensor(1.0))


def test_traced_initial_value_raises():
    @podium.function
    def step(x):
        return podium.Variable(x * 2)

    with pytest.raises(podium.core.LeakedValueError, match="initial value of Variable"):
        step(podium.Tensor(1.0))


def test_one_program_per_shape_dtype_and_static_value():
    runs = []

    @podium.function
    def f(x, power=2, flag=False):
        runs.append(x.shape)
        return x**power if flag else x

    f(np.ones(3, "float32"))
    f(np.zeros(3, "float32"))
    assert f.trace_count == 1
    f(np.ones(4, "float32"))
    f(np.ones(3, "int32"))
    assert f.trace_count == 3
    assert f(np.full(3, 2.0, "float32"), flag=True).numpy().tolist() == [4.0] * 3
    assert f(np.full(3, 2.0, "float32"), power=3, flag=True).numpy().tolist() == [8.0] * 3
    assert f.trace_count == 5
    assert len(runs) == 10  # each program is traced twice: to discover Variables and to compile


def test_results_keep_any_structure():
    @podium.function
    def f(x):
        return {"x": x, "rest": (x + 1, [None, "text", 3])}

    result = f(podium.Tensor(1.0))
    assert (
        float(result["x"]) == 1.0
        and float(result["rest"][0]) == 2.0
        and result["rest"][1] == [None, "text", 3]
    )


def test_functions_nest():
    v = podium.Variable(0.0)

    @podium.function
    def inner(x):
        v.assign_add(x)
        return x * 2

    @podium.function
    def outer(x):
        return inner(x) + inner(x)

    assert float(outer(podium.Tensor(3.0))) == 12.0 and float(v) == 6.0
    assert float(inner(podium.Tensor(1.0))) == 2.0 and float(v) == 7.0


def test_tape_differentiates_a_function():
    v = podium.Variable(3.0)
    square = podium.function(lambda x: v * x * x)
    x = podium.Variable(2.0)
    with podium.GradientTape() as tape:
        y = square(x)
    assert [float(g) for g in tape.gradient(y, [x, v])] == [12.0, 4.0]


def test_methods_have_programs_per_instance_and_do_not_keep_it_alive():
    class Counter:
        def __init__(self, start):
            self.v = podium.Variable(start)

        @podium.function
        def add(self, x):
            return self.v.assign_add(x)

    a, b = Counter(0.0), Counter(100.0)
    assert float(a.add(podium.Tensor(1.0))) == 1.0 and float(b.add(podium.Tensor(1.0))) == 101.0
    assert float(a.add(podium.Tensor(1.0))) == 2.0
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None


def test_static_objects_are_not_kept_alive():
    class Config:
        scale = 2.0

    f = podium.function(lambda x, config: x * config.scale)
    config = Config()
    assert float(f(podium.Tensor(3.0), config)) == 6.0 and f.trace_count == 1
    gone = weakref.ref(config)
    del config
    gc.collect()
    assert gone() is None and f.trace_count == 0


def test_calls_that_do_not_match_the_input_signature_raise():
    f = podium.function(lambda x: ops.sum(x), input_signature=[podium.TensorSpec((None, 3))])
    assert (
        float(f(np.ones((2, 3), "float32"))) == 6.0 and float(f(np.ones((5, 3), "float32"))) == 15.0
    )
    with pytest.raises(TypeError, match=r"shape \(2, 4\).*TensorSpec\(shape=\(None, 3\)"):
        f(np.ones((2, 4), "float32"))
    with pytest.raises(TypeError, match="type int32"):
        f(np.ones((2, 3), "int32"))
    with pytest.raises(TypeError, match="called with 2 values"):
        f(np.ones((2, 3), "float32"), np.ones(1, "float32"))


def test_export_has_symbolic_dimensions():
    w = podium.Variable(np.ones((3, 2), "float32"))
    f = podium.function(
        lambda x, y: x @ w + y,
        input_signature=[podium.TensorSpec(("batch", 3)), podium.TensorSpec(("batch", 2))],
    )
    exported = jax.export.deserialize(f.export().serialize())
    for rows in (2, 7):
        result = exported.call(np.ones((rows, 3), "float32"), np.ones((rows, 2), "float32"))
        np.testing.assert_array_equal(result, np.full((rows, 2), 4.0))
    counting = podium.function(lambda x: w.assign_add(x))
    with pytest.raises(ValueError, match="cannot be exported: it writes"):
        counting.export(podium.TensorSpec((3, 2)))


def test_run_functions_eagerly_runs_the_python_function_every_time():
    runs = []

    @podium.function
    def f(x):
        runs.append(float(x))
        return x

    podium.run_functions_eagerly(True)
    f(podium.Tensor(1.0)), f(podium.Tensor(2.0))
    assert runs == [1.0, 2.0] and f.trace_count == 0


def test_draws_differ_per_call_and_repeat_with_the_seed():
    draw = podium.function(lambda: podium.random.normal((4,)))
    podium.utils.set_random_seed(5)
    first, second = draw().numpy(), draw().numpy()
    podium.utils.set_random_seed(5)
    np.testing.assert_array_equal(draw().numpy(), first)
    podium.utils.set_random_seed(5)
    np.testing.assert_array_equal(podium.random.normal((4,)).numpy(), first)
    assert not np.array_equal(first, second)


def test_using_a_value_after_its_trace_raises():
    kept = []

    @podium.function
    def f(x):
        kept.append(x * 2)
        return x

    f(podium.Tensor(1.0))
    with pytest.raises(podium.core.LeakedValueError, match="return it"):
        kept[0] + 1
    with pytest.raises(podium.core.LeakedValueError, match="return it"):
        podium.function(lambda x: x + kept[-1])(podium.Tensor(1.0))


def test_error_of_lax_on_a_tensor_suggests_lift():
    with pytest.raises(TypeError, match=r"podium\.lift\(jax\.lax\.exp\)"):
        podium.function(lambda x: jax.lax.exp(x))(podium.Tensor(1.0))
    assert float(podium.lift(jax.lax.exp)(podium.Tensor(0.0))) == 1.0


def test_compiling_many_programs_warns():
    f = podium.function(lambda x, n: x * n)
    with pytest.warns(UserWarning, match=r"compiled 10 times.*np.float32"):
        for n in range(10):
            f(podium.Tensor(1.0), n)


# --- a step is a transaction


def check_usable(v, expected):
    assert float(ops.sum(v)) == expected
    v.assign_add(ops.zeros(v.shape))


def test_exception_during_trace_leaves_variables_unchanged():
    v = podium.Variable(np.ones(4, "float32"))

    @podium.function
    def step(x, fail):
        v.assign_add(x)
        if fail:
            raise RuntimeError("raised by the user")
        return v.value

    step(np.ones(4, "float32"), False)
    with pytest.raises(RuntimeError, match="raised by the user"):
        step(np.ones(4, "float32"), True)
    check_usable(v, 8.0)
    step(np.ones(4, "float32"), False)
    check_usable(v, 12.0)


def test_exception_during_run_leaves_variables_unchanged():
    v = podium.Variable(np.ones(4, "float32"))
    fail = [False]

    def check(value):
        if fail[0]:
            raise RuntimeError("inside the program")
        return value

    checked = podium.lift(
        lambda x: jax.pure_callback(check, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    )

    @podium.function
    def step(x):
        v.assign_add(checked(x))

    step(np.ones(4, "float32"))
    check_usable(v, 8.0)
    fail[0] = True
    with pytest.raises(Exception, match="inside the program"):
        step(np.ones(4, "float32"))
    check_usable(v, 8.0)
    fail[0] = False
    step(np.ones(4, "float32"))
    check_usable(v, 12.0)


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c")
# An interrupt may occur inside a destructor.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_random_times_never_lose_state():
    values = [podium.Variable(np.zeros(50, "float32")) for _ in range(20)]
    count = podium.Variable(0, trainable=False)

    @podium.function
    def step(x):
        for v in values:
            v.assign_add(x)
        return count.assign_add(1)

    x = np.ones(50, "float32")
    step(x)
    rng, num_interrupts = np.random.default_rng(0), 0
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    for round_ in range(100):
        deadline = time.monotonic() + 2  # Python drops an interrupt inside a destructor
        try:
            signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-4, 3e-3)))
            while time.monotonic() < deadline:
                if round_ % 10 == 5:
                    # interrupted during tracing and compiling
                    podium.function(step.python_function)(x)
                step(x)
        except (KeyboardInterrupt, SystemError):  # NumPy's C code raises a SystemError instead
            num_interrupts += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        done = int(count)
        for v in values:
            assert v.numpy().tolist() == [float(done)] * 50
    assert num_interrupts > 80 and done > 100


def test_threads_can_share_a_function():
    v = podium.Variable(np.zeros(10, "float32"))
    step = podium.function(lambda x: v.assign_add(x))
    read = podium.function(lambda x: ops.sum(v * x))
    step(np.zeros(10, "float32")), read(np.ones(10, "float32"))
    errors = []

    def work(fn):
        try:
            for _ in range(100):
                fn(np.ones(10, "float32"))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(fn,)) for fn in (step, step, read, read)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not errors and float(ops.sum(v)) == 2000.0


def test_functions_share_variables_in_any_grouping():
    a, b, c = (podium.Variable(np.float32(i)) for i in range(3))
    first = podium.function(lambda: (a.assign_add(1.0), b.assign_add(1.0)))
    second = podium.function(lambda: (b.assign_add(10.0), c.assign_add(a)))
    for _ in range(3):
        first(), second()
        a.assign_add(100.0)
    assert [float(v) for v in (a, b, c)] == [303.0, 34.0, 2 + 1 + 102 + 203]


def test_variables_leave_the_store_of_a_deleted_function():
    v, w = podium.Variable(1.0), podium.Variable(np.ones(1000, "float32"))
    step = podium.function(lambda v=v, w=w: (v.assign_add(1.0), w.assign_add(v)))
    step()
    assert v.store is w.store is not None
    assert float(v) == 2.0 and float(ops.sum(w)) == 3000.0
    array = weakref.ref(w.stored)
    del step, w
    gc.collect()
    other = podium.function(podium.Variable(0.0).assign_add)
    other(1.0)
    assert v.store is None and array() is None and float(v) == 2.0


def test_work_per_call_does_not_grow_with_the_number_of_variables():
    import sys

    def calls_of(count):
        values = [podium.Variable(0.0) for _ in range(count)]

        @podium.function
        def step(x):
            for v in values:
                v.assign_add(x)

        x = podium.Tensor(1.0)
        step(x), step(x)
        seen = [0]
        sys.setprofile(lambda frame, event, arg: seen.__setitem__(0, seen[0] + 1))
        try:
            step(x)
        finally:
            sys.setprofile(None)
        return seen[0]

    assert calls_of(2) == calls_of(200)


def test_functions_that_were_traced_and_dropped_leave_no_objects():
    def trace_once():
        a, b = podium.Variable([1.0, 2.0]), podium.Variable([3.0, 4.0])
        podium.function(lambda x: x * ops.sum(a + b))(np.ones(2, "float32"))

    def count_objects(num_functions):
        for _ in range(num_functions):
            trace_once()
        gc.collect()
        gc.collect()
        return len(gc.get_objects())

    before = count_objects(3)
    assert count_objects(10) - before < 5
