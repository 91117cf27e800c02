"""Fully connected layers."""

from __future__ import annotations

from jax import Array, lax

from gluonjax._base.errors import OperatorError
from gluonjax._ops.opdef import Attrs, Shape, check, operator
from gluonjax._ops.rules import product


def _weighted_inputs(attrs: Attrs) -> tuple[str, ...]:
    return ("data", "weight") if attrs.no_bias else ("data", "weight", "bias")


def _parameter_shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {"bias": (attrs.num_hidden,)}
    data = known.get("data")
    if data:
        width = product(data[1:]) if attrs.flatten else data[-1]
        shapes["weight"] = (attrs.num_hidden, width)
    return shapes


@operator(
    "FullyConnected",
    aliases=("_npx_fully_connected", "_sparse_FullyConnected"),
    active_inputs=_weighted_inputs,
    param_shapes=_parameter_shapes,
)
def fully_connected(
    data: Array, weight: Array, bias: Array | None = None, *,
    num_hidden: int, no_bias: bool = False, flatten: bool = True,
) -> Array:  # fmt: skip
    """Affine map of the features of each example: ``data @ weight.T + bias``.

    Args:
        data: ``(batch, ...)``; all axes but the first are flattened, or with ``flatten=False`` only the last
            is mapped.
        weight: ``(num_hidden, features)``.
        bias: ``(num_hidden,)``; absent with ``no_bias=True``.

    Returns:
        ``(batch, num_hidden)``, or with ``flatten=False`` ``(..., num_hidden)``.
    """
    check(data.ndim > 0, "FullyConnected: data has no dimension; give it (batch, features)")
    if flatten and data.ndim != 2:
        data = lax.reshape(data, (data.shape[0], product(data.shape[1:])))
    wanted = (num_hidden, data.shape[-1])
    check(
        weight.shape == wanted,
        f"FullyConnected: Shape inconsistent, Provided = {list(weight.shape)}, inferred shape={wanted} "
        f"for the weight of data {data.shape}; weight is (num_hidden, features)",
    )
    output = lax.dot_general(data, weight, (((data.ndim - 1,), (1,)), ((), ())))
    if no_bias:
        return output
    if bias is None:
        raise OperatorError("FullyConnected: bias is missing; give one or set no_bias=True")
    # MXNet also takes a column, (num_hidden, 1).
    fits = bias.shape in ((num_hidden,), (num_hidden, 1))
    check(fits, f"FullyConnected: Unexpected shape for bias {list(bias.shape)}, wanted ({num_hidden},)")
    row = bias if bias.ndim == 1 else lax.reshape(bias, (num_hidden,))
    return lax.add(output, lax.broadcast_in_dim(row, output.shape, (output.ndim - 1,)))
