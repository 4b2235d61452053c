"""ExportArchive: functions of models as the endpoints of one SavedModel.

Each endpoint is traced when it is added, with the Variables that it uses as arguments; those it
assigns are results, and TensorFlow assigns them. `_saved_model_writer.py` has the SavedModels of
single models.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.export
import jax.numpy as jnp

from podium._typing import PathLike, TensorLike, Tree
from podium.core import (
    Function,
    KerasTensor,
    TensorSpec,
    Variable,
    check_choice,
    function,
    is_interactive_logging_enabled,
)
from podium.core.internal import (
    PublicRepr,
    VariableScope,
    override,
    symbolic_spec,
    unwrap_result,
    wrap,
)
from podium.layers import InputSpec, Layer
from podium.saving.formats._model_program import is_spec, make_argument_names
from podium.saving.formats._saved_model_writer import (
    SAVED_MODEL_NAMES,
    encode_structure,
    make_output_names,
    make_program_entry,
    make_variable_name,
    require_tensorflow,
    run_tensorflow,
)
from podium.saving.io._array_io import host_value
from podium.saving.io._replace_directory import replace_directory
from podium.saving.tensorflow_files._tensor_bundle_writer import write_bundle

_RESERVED = ("variables", "trainable_variables", "non_trainable_variables", "signatures")


class _Endpoint(NamedTuple):
    name: str
    specs: list[Any]  # one structure of TensorSpecs for each argument
    input_names: list[str]
    exported: jax.export.Exported
    variables: list[Variable]  # the first arguments of the program
    written: list[Variable]  # the last results of the program


class ExportArchive(PublicRepr):
    """Writes functions that use layers and models as a SavedModel for TensorFlow.

    Use it where `Model.export`, with its one endpoint, is not enough. Writing needs the package
    tensorflow; adding endpoints does not.

    Args:
        format: "saved_model".

    Example:
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> archive = podium.saving.ExportArchive()
        >>> archive.track(model)
        >>> specs = [podium.TensorSpec((None, 3))]
        >>> serve = archive.add_endpoint("serve", model.call, specs)
        >>> serve(np.ones((5, 3), "float32")).shape, len(archive.variables)
        ((5, 2), 2)
    """

    def __init__(self, format: str = "saved_model"):
        check_choice("format", format, ("saved_model",))
        self._endpoints: list[_Endpoint] = []
        self._collections: dict[str, list[Variable]] = {}
        self._tracked: list[Variable] = []
        self._trainable: set[int] = set()

    @property
    def variables(self) -> list[Variable]:
        """The Variables of the tracked layers."""
        return list(self._tracked)

    @property
    def trainable_variables(self) -> list[Variable]:
        """The Variables of the tracked layers that are trained."""
        return [variable for variable in self._tracked if id(variable) in self._trainable]

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """The Variables of the tracked layers that are not trained."""
        return [variable for variable in self._tracked if id(variable) not in self._trainable]

    def track(self, resource: Layer) -> None:
        """List the Variables of a layer or model in the SavedModel.

        Endpoints find what they use without it; it adds the rest, and makes all of them attributes
        of what TensorFlow loads: `variables`, `trainable_variables`, `non_trainable_variables`.

        Args:
            resource: A layer or model, built.
        """
        if not isinstance(resource, Layer):
            raise ValueError(
                f"ExportArchive.track was given an object of type {type(resource).__name__}; a "
                "layer or a model was expected. Objects of TensorFlow cannot be part of it."
            )
        if not resource.built:
            raise ValueError(
                f"ExportArchive.track was given layer {resource.name!r} "
                f"({type(resource).__name__}), which is not built. Call it on a batch first."
            )
        known = {id(variable) for variable in self._tracked}
        self._tracked += [each for each in resource.variables if id(each) not in known]
        self._trainable |= {id(variable) for variable in resource.trainable_variables}

    def add_endpoint(
        self,
        name: str,
        fn: Callable[..., Any],
        input_signature: Tree = None,
        **kwargs: Any,
    ) -> Callable[..., Any]:
        """Add a function that can be called by its name after loading.

        Args:
            name: The name. The first endpoint is also `serving_default` for servers.
            fn: The function, such as `model.call` or `lambda x: model(x, training=True)`. What it
                assigns, such as the states of random generators, is assigned after loading too.
            input_signature: A list with the spec of each argument, or a structure of specs:
                `TensorSpec`, `InputSpec`, `KerasTensor` or an array. A size of None stays open.
                A `podium.function` with an input signature of its own needs none.
            **kwargs: `is_static` and `jax2tf_kwargs` of Keras: the first is found out, and the
                second must be empty.

        Returns:
            The function, compiled.
        """
        self._check_name("add_endpoint", name)
        if any(endpoint.name == name for endpoint in self._endpoints):
            raise ValueError(f"add_endpoint was given name={name!r}, which an endpoint has.")
        unknown = set(kwargs) - {"is_static", "jax2tf_kwargs"}
        if unknown or kwargs.get("jax2tf_kwargs"):
            raise ValueError(
                f"add_endpoint was given {sorted(unknown) or ['jax2tf_kwargs']}, which it does not "
                "have: programs are exported by jax.export. Leave it out."
            )
        if input_signature is None:
            input_signature = fn.input_signature if isinstance(fn, Function) else None
        if input_signature is None:
            raise ValueError(
                f"add_endpoint({name!r}) was given no input_signature; a list with the spec of "
                "each argument was expected: input_signature=[podium.TensorSpec((None, 3))]."
            )
        arguments = (
            list(input_signature)
            if isinstance(input_signature, (list, tuple))
            else [input_signature]
        )
        specs = [jax.tree.map(_as_spec, each, is_leaf=_is_spec_like) for each in arguments]
        self._endpoints.append(_trace_endpoint(name, fn, specs, _name_inputs(fn, arguments)))
        return fn if isinstance(fn, Function) else function(fn)

    def track_and_add_endpoint(
        self, name: str, resource: Layer, input_signature: Tree, **kwargs: Any
    ) -> Callable[..., Any]:
        """Track a layer or model, and add its call as an endpoint.

        Args:
            name: The name of the endpoint.
            resource: The layer or model, built.
            input_signature: A list with the spec of each argument.
            **kwargs: As in `add_endpoint`.
        """
        self.track(resource)
        return self.add_endpoint(name, resource, input_signature, **kwargs)

    def add_variable_collection(self, name: str, variables: Iterable[Variable]) -> None:
        """Add a list of Variables that is an attribute of what TensorFlow loads.

        Args:
            name: The name of the attribute.
            variables: A list, tuple or set of Variables.
        """
        self._check_name("add_variable_collection", name)
        is_collection = isinstance(variables, (list, tuple, set))
        if not is_collection or not all(isinstance(each, Variable) for each in variables):
            raise ValueError(
                f"add_variable_collection({name!r}) was given {type(variables).__name__}; a list, "
                "tuple or set of Variables was expected, such as `model.optimizer.variables`."
            )
        self._collections[name] = list(variables)

    def write_out(self, filepath: PathLike, options: object = None, verbose: bool = True) -> None:
        """Write the SavedModel, with the present values of all Variables.

        Args:
            filepath: The directory. A SavedModel that is there is replaced as a whole.
            options: Accepted for Keras's signature: None.
            verbose: Whether to print the endpoints.

        Raises:
            ImportError: tensorflow is not installed.
        """
        if options is not None:
            raise ValueError(
                f"write_out was given options={options!r}; TensorFlow writes in a process of its "
                "own, with its default options. Leave it out."
            )
        if not self._endpoints:
            raise ValueError("write_out was called before add_endpoint; there is nothing to write.")
        require_tensorflow("ExportArchive.write_out")
        target = os.fsdecode(filepath)
        with replace_directory("write_out", target, SAVED_MODEL_NAMES, overwrite=True) as folder:
            self._write_request(folder)
            run_tensorflow("write_out", folder)
        if verbose and is_interactive_logging_enabled():
            shown = "\n".join(_describe_endpoint(endpoint) for endpoint in self._endpoints)
            sys.stdout.write(f"Saved artifact at {target!r}. Its endpoints:\n{shown}\n")

    def _check_name(self, caller: str, name: str) -> None:
        is_free = name not in _RESERVED and name not in self._collections
        if not isinstance(name, str) or not name.isidentifier() or name[0] == "_" or not is_free:
            raise ValueError(
                f"{caller} was given name={name!r}; an identifier was expected that is none of "
                f"{', '.join((*_RESERVED, *self._collections))}."
            )

    def _write_request(self, folder: str) -> None:
        variables: dict[int, Variable] = {}
        for group in (
            self._tracked,
            *(endpoint.variables for endpoint in self._endpoints),
            *self._collections.values(),
        ):
            variables |= {id(variable): variable for variable in group}
        node_of = {key: index for index, key in enumerate(variables)}
        values = {f"variable/{node_of[key]}": host_value(v) for key, v in variables.items()}
        write_bundle("write_out", os.path.join(folder, "weights"), values)
        for index, endpoint in enumerate(self._endpoints):
            with open(os.path.join(folder, f"program_{index}.bin"), "wb") as file:
                file.write(endpoint.exported.mlir_module_serialized)
        lists = {
            "variables": self.variables,
            "trainable_variables": self.trainable_variables,
            "non_trainable_variables": self.non_trainable_variables,
            **self._collections,
        }
        trained = self._trainable | {key for key, v in variables.items() if v.trainable}

        request = {
            "sys_path": sys.path,
            "nodes": [
                {
                    "children": {},
                    "key": f"variable/{index}",
                    "name": make_variable_name(variables[key].path),
                    "trainable": key in trained,
                }
                for key, index in node_of.items()
            ],
            "lists": {
                name: [node_of[id(variable)] for variable in group] for name, group in lists.items()
            },
            "endpoints": [_endpoint_entry(endpoint, node_of) for endpoint in self._endpoints],
        }
        with open(os.path.join(folder, "request.json"), "w", encoding="utf-8") as text_file:
            json.dump(request, text_file)


def _is_spec_like(value: object) -> bool:
    return isinstance(value, (TensorSpec, InputSpec, KerasTensor)) or hasattr(value, "shape")


def _as_spec(value: TensorSpec | InputSpec | KerasTensor | TensorLike) -> TensorSpec:
    shape = getattr(value, "shape", None)
    if shape is None:
        raise ValueError(
            f"add_endpoint was given {value!r} in its input_signature; a spec with a shape was "
            "expected: podium.TensorSpec((None, 3))."
        )
    dtype = getattr(value, "dtype", None) or "float32"
    return TensorSpec(tuple(shape), dtype, getattr(value, "name", None))


def _name_inputs(fn: Callable[..., Any], arguments: Sequence[Any]) -> list[str]:
    """Return a name for each leaf of the arguments: its own, its key, or that of the argument."""
    called = fn.call if isinstance(fn, Layer) else fn
    try:
        parameters = [*inspect.signature(called).parameters]
    except (TypeError, ValueError):
        parameters = []
    names = []
    for index, argument in enumerate(arguments):
        default = parameters[index] if index < len(parameters) else f"args_{index}"
        for path, leaf in jax.tree.leaves_with_path(argument, is_leaf=_is_spec_like):
            key = getattr(path[-1], "key", None) if path else None
            names.append(str(getattr(leaf, "name", None) or key or default))
    return make_argument_names(names)


def _trace_endpoint(
    name: str, fn: Callable[..., Any], specs: list[Any], input_names: list[str]
) -> _Endpoint:
    """Trace a function twice: to find the Variables, and with their values as arguments."""
    symbols = jax.export.SymbolicScope()
    flat, treedef = jax.tree.flatten(specs, is_leaf=is_spec)
    shapes = [symbolic_spec(spec, index, symbols) for index, spec in enumerate(flat)]
    args = jax.tree.unflatten(treedef, shapes)
    discovery = VariableScope()
    try:
        jax.eval_shape(lambda *args: _run_in_scope(discovery, fn, args), *args)
        used = {**discovery.reads, **discovery.writes}
        variables = [variable for variable, _ in used.values()]
        written = [variable for variable, _ in discovery.writes.values()]

        def pure(values: list[jax.Array], *args: Any) -> tuple[Tree, list[jax.Array]]:
            pairs = zip(variables, values, strict=True)
            scope = VariableScope({id(variable): (variable, value) for variable, value in pairs})
            result = _run_in_scope(scope, fn, args)
            return result, [scope.read(variable) for variable in written]

        values = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in variables]
        platforms = sorted({"cpu", jax.default_backend().replace("gpu", "cuda")})
        exported = jax.export.export(jax.jit(pure), platforms=platforms)(values, *args)
    except (jax.errors.ConcretizationTypeError, jax.errors.InconclusiveDimensionOperation) as error:
        raise ValueError(
            f"Endpoint {name!r} cannot be exported with sizes that are open: it uses one as a "
            "number (`if`, `range`, `int`). Give that size in the `input_signature`. "
            f"({str(error)[:300]})"
        ) from error
    return _Endpoint(name, specs, input_names, exported, variables, written)


def _run_in_scope(scope: VariableScope, fn: Callable[..., Any], args: Sequence[Any]) -> Tree:
    with override(scope=scope, tapes=()):
        return unwrap_result(fn(*jax.tree.map(wrap, tuple(args))))


def _endpoint_entry(endpoint: _Endpoint, node_of: Mapping[int, int]) -> dict[str, Any]:
    """Return how TensorFlow makes an endpoint."""
    flat, treedef = jax.tree.flatten(endpoint.specs, is_leaf=is_spec)
    exported = endpoint.exported
    result, _ = jax.tree.unflatten(exported.out_tree, range(len(exported.out_avals)))
    count = len(exported.out_avals) - len(endpoint.written)
    return {
        "name": endpoint.name,
        "program": make_program_entry(exported, [node_of[id(v)] for v in endpoint.variables]),
        "written": [node_of[id(variable)] for variable in endpoint.written],
        "inputs": [
            {
                "shape": [size if isinstance(size, int) else None for size in spec.shape],
                "dtype": jnp.dtype(spec.dtype).name,
                "name": name,
            }
            for spec, name in zip(flat, endpoint.input_names, strict=True)
        ],
        "input_structures": [
            encode_structure(each) for each in jax.tree.unflatten(treedef, range(len(flat)))
        ],
        "output_structure": encode_structure(result),
        "output_names": make_output_names(None, result, count),
    }


def _describe_endpoint(endpoint: _Endpoint) -> str:
    flat = jax.tree.leaves(endpoint.specs, is_leaf=is_spec)
    inputs = [
        f"{name}: {spec.shape} {jnp.dtype(spec.dtype).name}"
        for name, spec in zip(endpoint.input_names, flat, strict=True)
    ]
    return f"* {endpoint.name}({', '.join(inputs)})"
