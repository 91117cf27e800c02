"""``Updater``: an optimizer with the states of many weights, as key-value stores and trainers use it."""

from __future__ import annotations

from typing import Any

from gluonjax._base.errors import OperatorError
from gluonjax.ndarray._capture import outside
from gluonjax.ndarray.ndarray import NDArray
from gluonjax.optimizer._base import Optimizer
from gluonjax.optimizer._pickles import dump_states, load_states
from gluonjax.optimizer._state import map_state
from gluonjax.util import is_np_array


def classic(array: Any, allow_np: bool) -> Any:
    """``mx.np`` arrays as NDArrays on the same memory: users' own optimizers are written for NDArrays."""
    if isinstance(array, (list, tuple)):
        return [classic(entry, allow_np) for entry in array]
    if type(array) is NDArray or not isinstance(array, NDArray) or array.stype != "default":
        return array
    if not allow_np:
        raise OperatorError("Converting np.ndarray to mx.nd.NDArray is not allowed; call npx.set_np() first")
    return array.as_nd_ndarray()


class Updater:
    """Updates weights, creating and keeping the state of each.

    Args:
        optimizer: an Optimizer.

    >>> from gluonjax import nd, optimizer
    >>> updater = get_updater(optimizer.create("sgd", learning_rate=0.5))
    >>> weight = nd.ones((2,))
    >>> updater(0, nd.ones((2,)), weight)
    >>> weight.asnumpy().tolist()
    [0.5, 0.5]
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}
        # Belongs to ``_fused.update_all``.
        self.prepared: Any = None
        self.aggregate_updates = optimizer.aggregate_num > 0

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Update one weight, or lists of them.

        Args:
            index: an int or text, or a list of them.
            grad, weight: NDArrays, or lists of them.
        """
        allow_np = getattr(self.optimizer, "allow_np_array", is_np_array())
        many = isinstance(index, (list, tuple))
        indices = [i.decode() if isinstance(i, bytes) else i for i in (index if many else [index])]
        grads = classic(grad if many else [grad], allow_np)
        weights = classic(weight if many else [weight], allow_np)
        if weights:
            self.optimizer._set_current_context(weights[0].context.device_id)
        with outside():
            for one, array in zip(indices, weights):
                self._prepare(one, array)
        if self.aggregate_updates:
            self._update_in_groups(indices, grads, weights)
        else:
            for one, slope, array in zip(indices, grads, weights):
                self.optimizer.update_multi_precision(one, array, slope, self.states[one])

    def _prepare(self, index: Any, weight: NDArray) -> None:
        """Make the state of a weight, or bring a loaded one to the weight's device."""
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        elif not self.states_synced[index]:
            self.states[index] = self.sync_state_context(self.states[index], weight.context)
        self.states_synced[index] = True

    def _update_in_groups(self, indices: list[Any], grads: list[Any], weights: list[Any]) -> None:
        """Hand weights of one dtype to the optimizer, ``aggregate_num`` at a time."""
        by_dtype: dict[Any, list[tuple[Any, Any, Any]]] = {}
        for entry in zip(indices, weights, grads):
            by_dtype.setdefault(entry[1].dtype, []).append(entry)
        size = self.optimizer.aggregate_num
        for entries in by_dtype.values():
            for start in range(0, len(entries), size):
                group = entries[start : start + size]
                numbers, arrays, slopes = (list(column) for column in zip(*group))
                states = [self.states[number] for number in numbers]
                self.optimizer.update_multi_precision(numbers, arrays, slopes, states)

    def sync_state_context(self, state: Any, context: Any) -> Any:
        """The state with all arrays on the given device."""
        return map_state(lambda a: a.as_in_context(context) if isinstance(a, NDArray) else a, state)

    def set_states(self, states: bytes) -> None:
        """Take over what ``get_states`` of this library or of MXNet gave."""
        loaded = load_states(states)
        if isinstance(loaded, tuple):
            self.states, self.optimizer = loaded[0], loaded[1]
            self.aggregate_updates = self.optimizer.aggregate_num > 0
        else:
            self.states = loaded
        self.states_synced = dict.fromkeys(self.states, False)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """All states as bytes that MXNet can read too.

        Args:
            dump_optimizer: include the optimizer (its rates, counts and scheduler).
        """
        return dump_states((self.states, self.optimizer) if dump_optimizer else self.states)


def get_updater(optimizer: Optimizer) -> Updater:
    """Return a function ``updater(index, grad, weight)`` with its own states."""
    return Updater(optimizer)
