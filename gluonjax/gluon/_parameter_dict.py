"""Dictionaries of parameters, with a common prefix and optional sharing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

import numpy as np

from gluonjax import initializer
from gluonjax import ndarray as nd
from gluonjax._base.devices import Context
from gluonjax.gluon._constant import Constant
from gluonjax.gluon._errors import ArgumentError, NoConstantError, ParameterMismatch
from gluonjax.gluon._parameter import UNKNOWN, Parameter

NAMING_HELP = (
    "For more info on naming, please see "
    "https://mxnet.io/api/python/docs/tutorials/packages/gluon/blocks/naming.html"
)
SAME_PREFIX = "Please make sure source and target networks have the same prefix."


class ParameterDict:
    """Parameters by full name.

    Args:
        prefix: put in front of every name given to ``get``.
        shared: another ParameterDict whose parameters are used where the names agree.

    >>> params = ParameterDict("net_")
    >>> params.get("weight", shape=(2, 3))
    Parameter net_weight (shape=(2, 3), dtype=<class 'numpy.float32'>)
    >>> list(params)
    ['net_weight']
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._shared = shared
        self._params: OrderedDict[str, Parameter] = OrderedDict()

    def __repr__(self) -> str:
        lines = "\n".join("  " + repr(parameter).replace("\n", "\n  ") for parameter in self.values())
        head = self._prefix + " " if self._prefix else ""
        return f"{head}(\n{lines}\n)"

    def __getitem__(self, key: str) -> Parameter:
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def items(self) -> ItemsView[str, Parameter]:
        return self._params.items()

    def keys(self) -> KeysView[str]:
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        return self._params.values()

    @property
    def prefix(self) -> str:
        """What is put in front of the names of new parameters."""
        return self._prefix

    # -- creation -------------------------------------------------------------------------------------------

    def _find(self, full_name: str) -> Parameter | None:
        found = self._params.get(full_name)
        if found is None and self._shared is not None:
            found = self._shared._params.get(full_name)
            if found is not None:
                self._params[full_name] = found
        return found

    _get_impl = _find

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter ``prefix + name``, created with the keyword arguments where it does not exist.

        Where it exists, the arguments must agree with it; unknown dimensions are filled in from either side.
        """
        full_name = self._prefix + name
        found = self._find(full_name)
        if found is None:
            found = self._params[full_name] = Parameter(full_name, **kwargs)
            return found
        for attribute, wanted in kwargs.items():
            _reconcile(found, attribute, wanted)
        return found

    def get_constant(self, name: str, value: Any = None) -> Constant:
        """The constant ``prefix + name``, created from ``value`` where it does not exist."""
        full_name = self._prefix + name
        found = self._find(full_name)
        if found is None:
            if value is None:
                raise NoConstantError(
                    f"No constant named '{full_name}'. Please specify value if you want to create a "
                    f"new constant."
                )
            found = self._params[full_name] = Constant(full_name, value)
            return found
        if not isinstance(found, Constant):
            raise ParameterMismatch(f"Parameter '{full_name}' already exists but it is not a constant.")
        if value is not None:
            given = value.asnumpy() if isinstance(value, nd.NDArray) else np.asarray(value, found.value.dtype)
            if given.shape != found.value.shape or not (given == found.value.asnumpy()).all():
                raise ParameterMismatch(
                    f"Constant '{full_name}' already exists but it's value doesn't match new value"
                )
        return found

    def update(self, other: Any) -> None:
        """Take over all parameters of another dictionary; the same name must mean the same parameter."""
        for name, parameter in other.items():
            if self._params.get(name, parameter) is not parameter:
                raise ParameterMismatch(
                    "Cannot update self with other because they have different Parameters with the same name "
                    f"'{name}'"
                )
        self._params.update(other.items())

    # -- all at once ----------------------------------------------------------------------------------------

    def initialize(
        self,
        init: Any = initializer.Uniform(),  # noqa: B008 - MXNet's signature
        ctx: Any = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialize every parameter; see ``Parameter.initialize``. ``init`` is the default for those without."""
        if verbose:
            init.set_verbosity(verbose=verbose)
        for parameter in self.values():
            parameter.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        for parameter in self.values():
            parameter.zero_grad()

    def reset_ctx(self, ctx: Any) -> None:
        """Move every parameter to other contexts."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """Every context that some parameter is on."""
        return list({context: None for parameter in self.values() for context in parameter.list_ctx()})

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute on all parameters: ``params.setattr('grad_req', 'null')``."""
        for parameter in self.values():
            setattr(parameter, name, value)

    # -- files ----------------------------------------------------------------------------------------------

    def save(self, filename: str, strip_prefix: str = "") -> None:
        """Write all values to a .params file under their names less ``strip_prefix``."""
        arrays = {}
        for parameter in self.values():
            if not parameter.name.startswith(strip_prefix):
                raise ArgumentError(
                    f"Prefix '{strip_prefix}' is to be striped before saving, but Parameter's name "
                    f"'{parameter.name}' does not start with '{strip_prefix}'. this may be due to "
                    f"your Block shares "
                    "parameters from other Blocks or you forgot to use 'with name_scope()' when "
                    "creating child "
                    f"blocks. {NAMING_HELP}"
                )
            arrays[parameter.name[len(strip_prefix) :]] = parameter._reduce()
        nd.save(filename, arrays)

    def load(
        self, filename: str, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False,
        restore_prefix: str = "", cast_dtype: bool = False, dtype_source: str = "current",
    ) -> None:  # fmt: skip
        """Read values from a .params file.

        Args:
            filename: path.
            ctx: where to put parameters that are not initialized yet.
            allow_missing: leave parameters alone that the file does not have.
            ignore_extra: skip entries of the file that this dictionary does not have.
            restore_prefix: put in front of the names in the file.
            cast_dtype: convert where the dtypes differ, to the dtype of ``dtype_source`` ('current' or 'saved').
        """
        for name in self.keys():
            if not name.startswith(restore_prefix):
                raise ArgumentError(
                    f"restore_prefix is '{restore_prefix}' but Parameters name '{name}' does not start with "
                    f"'{restore_prefix}'. {NAMING_HELP}"
                )
        self.load_dict(
            nd.load(filename),
            ctx,
            allow_missing,
            ignore_extra,
            restore_prefix,
            filename,
            cast_dtype,
            dtype_source,
        )

    def load_dict(
        self, param_dict: Any, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False,
        restore_prefix: str = "", filename: str | None = None, cast_dtype: bool = False, dtype_source: str = "current",
    ) -> None:  # fmt: skip
        """Read values from a dictionary of arrays; see ``load``."""
        where = f"file: {filename}" if filename else "param_dict"
        if not isinstance(param_dict, Mapping) and len(param_dict) == 0:
            param_dict = {}  # a file without arrays does not say whether they would have names
        if not isinstance(param_dict, Mapping):
            raise ArgumentError(
                f"ParameterDict.load: {where} holds unnamed arrays ({type(param_dict).__name__})"
            )
        loaded = {restore_prefix + without_kind(key): value for key, value in param_dict.items()}
        skip = len(restore_prefix)
        if not allow_missing:
            for name in self.keys():
                if name not in loaded:
                    raise ParameterMismatch(
                        f"Parameter '{name[skip:]}' is missing in {where}, which contains parameters: "
                        f"{brief(loaded)}. {SAME_PREFIX}{NAMING_HELP}"
                    )
        for name, value in loaded.items():
            if name in self._params:
                self[name]._load_init(value, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)
            elif not ignore_extra:
                raise ParameterMismatch(
                    f"Parameter '{name[skip:]}' loaded from {where} is not present in ParameterDict, "
                    f"choices are: "
                    f"{brief(self.keys())}. Set ignore_extra to True to ignore. {SAME_PREFIX}{NAMING_HELP}"
                )


def without_kind(key: str) -> str:
    """Drop the ``arg:`` or ``aux:`` that exported files put in front of names.

    >>> without_kind("aux:bn_running_mean")
    'bn_running_mean'
    """
    return key[4:] if key.startswith(("arg:", "aux:")) else key


def brief(names: Iterable[str], limit: int = 7) -> str:
    """Quote some names for an error message, leaving out the middle of long lists.

    >>> brief("abcdefghij", 4)
    "'a', 'b', ..., 'i', 'j'"
    """
    quoted = [f"'{name}'" for name in names]
    if len(quoted) > limit:
        half = limit // 2
        quoted = [*quoted[:half], "...", *quoted[half - limit :]]
    return ", ".join(quoted)


def _reconcile(parameter: Parameter, attribute: str, wanted: Any) -> None:
    """Make an existing parameter agree with an attribute asked for by ``get``, or complain."""
    stored = getattr(parameter, attribute, None)
    if stored is None:
        setattr(parameter, attribute, wanted)
        return
    if wanted is None:
        return
    if attribute == "shape":
        merged = _merge_shapes(
            parameter._shape or (), (wanted,) if isinstance(wanted, int) else tuple(wanted)
        )
        if merged is not None:
            parameter._shape = merged
            return
    elif attribute == "dtype":
        if np.dtype(wanted) == np.dtype(stored):
            return
    elif wanted == stored:
        return
    raise ParameterMismatch(
        f"Cannot retrieve Parameter '{parameter.name}' because desired attribute does not match with "
        f"stored for "
        f"attribute '{attribute}': desired '{wanted}' vs stored '{stored}'."
    )


def _merge_shapes(stored: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    if len(stored) != len(wanted):
        return None
    merged = []
    for one, other in zip(stored, wanted):
        if one not in UNKNOWN and other not in UNKNOWN and one != other:
            return None
        merged.append(other if one in UNKNOWN else one)
    return tuple(merged)
