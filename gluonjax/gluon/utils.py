"""Helpers of the Gluon API: splitting batches, clipping gradients, downloads, hook handles."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import ssl
import sys
import urllib.error
import urllib.request
import uuid
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from gluonjax import ndarray as nd
from gluonjax._base.devices import Context
from gluonjax.gluon._errors import ArgumentError, MXNetError
from gluonjax.ndarray import NDArray
from gluonjax.ndarray.ndarray import wrap
from gluonjax.util import is_np_array as is_np_array
from gluonjax.util import is_np_shape as is_np_shape

APACHE_URL = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """Cut an array into ``num_slice`` pieces along the batch axis.

    Args:
        data: the batch.
        num_slice: number of pieces.
        batch_axis: which axis to cut.
        even_split: insist that all pieces have the same size; otherwise they may differ by one.

    >>> [piece.shape for piece in split_data(nd.ones((5, 2)), 2, even_split=False)]
    [(3, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if even_split and size % num_slice:
        raise ArgumentError(
            f"data with shape {data.shape} cannot be evenly split into {num_slice} slices along axis "
            f"{batch_axis}. "
            f"Use a batch size that's multiple of {num_slice} or set even_split=False to allow uneven "
            f"partitioning "
            "of data."
        )
    if num_slice == 1:
        return [data]
    # The first pieces are the longer ones; with more pieces than rows the last ones are empty.
    edges = [0]
    for piece in range(num_slice):
        edges.append(edges[-1] + size // num_slice + (piece < size % num_slice))
    if batch_axis == 0:
        return [data[start:stop] for start, stop in itertools.pairwise(edges)]
    return [
        nd.slice_axis(data, axis=batch_axis, begin=start, end=stop) for start, stop in itertools.pairwise(edges)
    ]


def split_and_load(
    data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Cut a batch into one piece for each context and copy it there.

    >>> split_and_load([[1, 2], [3, 4]], [Context("cpu", 0), Context("cpu", 1)])[1].asnumpy().tolist()
    [[3.0, 4.0]]
    """
    if not isinstance(data, NDArray):
        data = nd.array(data, ctx=ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    pieces = split_data(data, len(ctx_list), batch_axis, even_split)
    return [piece.as_in_context(context) for piece, context in zip(pieces, ctx_list)]


@jax.jit
def _clip_all(arrays: list[jax.Array], max_norm: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """Scale all arrays so that their joint norm is at most ``max_norm``; also return that norm."""
    squares = [jnp.sum(jnp.square(array.astype(jnp.float32))) for array in arrays]
    norm = jnp.sqrt(sum(squares[1:], squares[0]))
    scale = max_norm.astype(jnp.float32) / (norm + jnp.float32(1e-8))
    factor = jnp.where(scale < 1, scale, jnp.float32(1))
    return [lax.mul(array, factor.astype(array.dtype)) for array in arrays], norm


def clip_global_norm(arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True) -> Any:
    """Scale arrays in place so that the norm of all of them together is at most ``max_norm``.

    Args:
        arrays: usually the gradients; any shapes, on one or several contexts.
        max_norm: the bound.
        check_isfinite: return a number and warn where it is not finite; this waits for the computation.

    Returns:
        The norm before clipping, a NumPy float, or an array of shape (1,) with ``check_isfinite=False``.

    >>> print(clip_global_norm([nd.array([3.0, 4.0])], 1.0))
    5.0
    """
    if not arrays:
        raise ArgumentError("clip_global_norm: got no arrays; pass at least one")
    context = arrays[0].context
    values = [array.as_in_context(context)._value for array in arrays]
    clipped, norm = _clip_all(values, np.float32(max_norm))
    total: Any = None
    if check_isfinite:
        total = np.float32(norm)
        if not math.isfinite(total):
            warnings.warn(
                UserWarning("nan or inf is detected. Clipping results will be undefined."), stacklevel=2
            )
    for array, value in zip(arrays, clipped):
        if array.context is context:
            array._write(value)
        else:
            array[:] = wrap(value, context)
    return total if check_isfinite else wrap(norm.reshape(1), context)


def check_sha1(filename: str, sha1_hash: str) -> bool:
    """Whether a file's SHA-1 digest starts with the given hexadecimal text (MXNet compares all of it)."""
    digest = hashlib.sha1()
    with open(filename, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == sha1_hash


def replace_file(src: str, dst: str) -> None:
    """Move a file over another one in a single step; the source is removed where that fails."""
    try:
        os.replace(src, dst)
    except OSError:
        if os.path.exists(src):
            os.remove(src)
        raise


def download(
    url: str, path: str | None = None, overwrite: bool = False, sha1_hash: str | None = None, retries: int = 5,
    verify_ssl: bool = True,
) -> str:  # fmt: skip
    """Fetch a file unless it is there already (with the right SHA-1 digest, if one is given).

    Args:
        url: where from.
        path: file or folder to store to; None takes the last part of the URL.
        overwrite: fetch even where the file exists.
        sha1_hash: expected digest.
        retries: how many times to try.
        verify_ssl: check the server's certificate.

    Returns:
        The path of the file.
    """
    base_name = url.split("/")[-1]
    if not base_name and path is None:
        raise ArgumentError(
            f"Can't construct file-name from this URL. Please set the `path` option manually. ({url})"
        )
    target = base_name if path is None else os.path.expanduser(path)
    if os.path.isdir(target):
        target = os.path.join(target, base_name)
    if retries < 0:
        raise ArgumentError(f"Number of retries should be at least 0, currently it's {retries}")
    present = os.path.exists(target) and (not sha1_hash or check_sha1(target, sha1_hash))
    if present and not overwrite:
        return target
    if not verify_ssl:
        warnings.warn(
            "Unverified HTTPS request is being made (verify_ssl=False). Adding certificate verification is "
            "strongly advised.",
            stacklevel=2,
        )
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    attempts = retries + 1
    for attempt in range(1, attempts + 1):
        partial = f"{target}.{uuid.uuid4()}"
        print(f"Downloading {target} from {url}...")
        try:
            _fetch(url, partial, verify_ssl)
            if sha1_hash and not check_sha1(partial, sha1_hash):
                raise MXNetError(
                    f"File {target} is downloaded but the content hash does not match. The repo may "
                    f"be outdated or "
                    "download may be incomplete."
                )
            replace_file(partial, target)
            return target
        except Exception as error:
            if os.path.exists(partial):
                os.remove(partial)
            if attempt == attempts:
                raise DownloadError(_offline_help(url, target, sha1_hash, error)) from error
            print(f"download failed due to an error, retrying, {attempts - attempt} attempt(s) left")
    return target


class DownloadError(MXNetError, OSError):
    """A file could not be fetched."""


def _offline_help(url: str, target: str, sha1_hash: str | None, error: Exception) -> str:
    digest = f" (SHA-1 {sha1_hash})" if sha1_hash else ""
    folder, name = os.path.split(os.path.abspath(target))
    reason = str(error) if isinstance(error, MXNetError) else f"{type(error).__name__}: {error}"
    return (
        f"Failed downloading url {url}: {reason}. Without a network, put the file {name}{digest} into the folder "
        f"{folder} yourself, or name a server that has it in MXNET_GLUON_REPO"
    )


def _fetch(url: str, path: str, verify_ssl: bool) -> None:
    """Copy what a URL gives to a file; through ``requests`` where it is installed, as MXNet does."""
    try:
        import requests
    except ImportError:
        requests = None
    if requests is not None and url.startswith("http"):
        response = requests.get(url, stream=True, verify=verify_ssl)
        if response.status_code != 200:
            raise MXNetError(f"Failed downloading url {url}")
        with open(path, "wb") as file, _Progress(getattr(response, "headers", {}).get("Content-Length")) as progress:
            for block in response.iter_content(chunk_size=1 << 16):
                file.write(block)
                progress.add(len(block))
        return
    context = ssl.create_default_context()
    if not verify_ssl:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        answer = urllib.request.urlopen(url, context=context)
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise
    with answer as source, open(path, "wb") as file:
        with _Progress(source.headers.get("Content-Length")) as progress:
            while block := source.read(1 << 16):
                file.write(block)
                progress.add(len(block))


class _Progress:
    """Shows on a terminal how much of a file has come."""

    def __init__(self, length: str | None) -> None:
        self._total = int(length) if length and length.isdigit() else 0
        self._seen = 0
        self._shown = -1
        self._on = sys.stderr.isatty()

    def add(self, count: int) -> None:
        self._seen += count
        state = 100 * self._seen // self._total if self._total else self._seen >> 20
        if self._on and state != self._shown:
            self._shown = state
            print(f"\r{state} {'%' if self._total else 'MB'}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._shown >= 0:
            print(file=sys.stderr)


def _get_repo_url() -> str:
    """Where models and data sets are fetched from: ``MXNET_GLUON_REPO`` or Apache's bucket."""
    url = os.environ.get("MXNET_GLUON_REPO", APACHE_URL)
    return url if url.endswith("/") else url + "/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    return f"{_get_repo_url()}{namespace}/{filename}"


class HookHandle:
    """Remembers where a hook was registered, so that it can be taken away again; usable in ``with``."""

    def __init__(self) -> None:
        self._hooks: Any = None
        self._id: int | None = None

    def attach(self, hooks_dict: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        """Register the hook in a dictionary of hooks."""
        if self._hooks is not None:
            raise ArgumentError("The same handle cannot be attached twice.")
        self._id = id(hook)
        hooks_dict[self._id] = hook
        self._hooks = weakref.ref(hooks_dict)

    def detach(self) -> None:
        """Take the hook away; doing it twice does nothing."""
        hooks = self._hooks() if self._hooks is not None else None
        if hooks is not None:
            hooks.pop(self._id, None)

    def __getstate__(self) -> tuple[Any, Any]:
        return (self._hooks() if self._hooks is not None else None, self._id)

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        hooks, self._id = state
        self._hooks = weakref.ref(OrderedDict() if hooks is None else hooks)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()


def shape_is_known(shape: Any) -> bool:
    """Whether all dimensions are known: none is -1 in NumPy-shape mode, none is 0 or -1 otherwise.

    >>> shape_is_known((2, 3)), shape_is_known((2, 0)), shape_is_known(None)
    (True, False, False)
    """
    if shape is None:
        return False
    if is_np_shape():
        return all(size != -1 for size in shape)
    return len(shape) > 0 and all(size > 0 for size in shape)


def _indent(text: str, spaces: int) -> str:
    """Indent all lines but the first."""
    return text.replace("\n", "\n" + " " * spaces)


__all__ = [
    "HookHandle", "check_sha1", "clip_global_norm", "download", "is_np_array", "is_np_shape", "replace_file",
    "shape_is_known", "split_and_load", "split_data",
]  # fmt: skip
