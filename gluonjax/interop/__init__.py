"""Both ways between MXNet's objects and JAX's: arrays, functions, blocks and Flax modules.

- ``mx_view``, ``jax_view``: an array as the other kind, without a copy.
- ``functional``: a block as a pure function of pytrees, for ``jax.jit``, ``grad``, ``vmap``, ``shard_map``.
- ``wrap``: a JAX function as an operator, on the tape and inside of hybridized blocks.
- ``from_flax``, ``to_flax``: modules as blocks, blocks as modules.
"""

from gluonjax.interop._from_flax import FlaxBlock as FlaxBlock
from gluonjax.interop._from_flax import from_flax as from_flax
from gluonjax.interop._functional import functional as functional
from gluonjax.interop._to_flax import to_flax as to_flax
from gluonjax.interop._views import jax_view as jax_view
from gluonjax.interop._views import mx_view as mx_view
from gluonjax.interop._wrap import wrap as wrap
