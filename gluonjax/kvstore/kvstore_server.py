"""``KVStoreServer``: what MXNet runs in the processes that keep weights for distributed workers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from gluonjax._base.errors import MXNetError
from gluonjax.kvstore.base import create as create
from gluonjax.optimizer._pickles import load_states

# MXNet's number of the command that carries an optimizer.
SET_OPTIMIZER = 0


class KVStoreServer:
    """The server's side of a store.

    Args:
        kvstore: the store that it keeps.
    """

    def __init__(self, kvstore: Any) -> None:
        self.kvstore = kvstore
        self.init_logginig = False  # MXNet's own spelling

    def _controller(self) -> Callable[[int, Any], None]:
        """The function that carries out a worker's command."""

        def carry_out(cmd_id: int, cmd_body: Any) -> None:
            if not self.init_logginig:
                head = f"%(asctime)-15s Server[{self.kvstore.rank}] %(message)s"
                logging.basicConfig(level=logging.DEBUG, format=head)
                self.init_logginig = True
            if cmd_id != SET_OPTIMIZER:
                raise MXNetError(
                    f"KVStoreServer: unknown command ({cmd_id}, {cmd_body!r}); {SET_OPTIMIZER} sets the optimizer"
                )
            body = cmd_body.encode("latin-1") if isinstance(cmd_body, str) else cmd_body
            self.kvstore.set_optimizer(load_states(body))

        return carry_out

    def run(self) -> None:
        """Serve until the workers stop. There are no server processes here, so this explains what to do instead."""
        raise MXNetError(
            f"KVStoreServer.run: a '{self.kvstore.type}' store has no server processes. Workers exchange gradients "
            "inside one JAX program: start every host with jax.distributed.initialize() and drop the server role"
        )
