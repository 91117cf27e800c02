"""``gluon.utils.download`` from a server of our own: retries, digests, what stays where it fails."""

from __future__ import annotations

import hashlib
import http.server
import pathlib
import threading
from collections.abc import Iterator

import pytest

import gluonjax as mx
from gluonjax.gluon import utils

CONTENT = b"weights" * 1000


class Moody(http.server.BaseHTTPRequestHandler):
    """Refuses as often as ``failures`` says, then gives the file."""

    failures = 0
    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        if type(self).failures > 0:
            type(self).failures -= 1
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Moody)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Moody.failures = Moody.asked = 0
    yield f"http://127.0.0.1:{server.server_port}/net.params"
    server.shutdown()
    thread.join()
    server.server_close()


def test_files_arrive_once(address: str, tmp_path: pathlib.Path) -> None:
    digest = hashlib.sha1(CONTENT).hexdigest()
    path = utils.download(address, path=str(tmp_path), sha1_hash=digest)
    assert path == str(tmp_path / "net.params") and pathlib.Path(path).read_bytes() == CONTENT
    utils.download(address, path=str(tmp_path), sha1_hash=digest)
    assert Moody.asked == 1, "it is there already"
    utils.download(address, path=str(tmp_path), overwrite=True)
    assert Moody.asked == 2
    pathlib.Path(path).write_bytes(b"old")
    utils.download(address, path=str(tmp_path / "net.params"), sha1_hash=digest)
    assert pathlib.Path(path).read_bytes() == CONTENT, "another content is replaced"


def test_failures_are_tried_again(address: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    Moody.failures = 2
    utils.download(address, path=str(tmp_path), retries=2)
    assert Moody.asked == 3 and [one.name for one in tmp_path.iterdir()] == ["net.params"]
    assert capsys.readouterr().out.count("retrying") == 2


@pytest.mark.parametrize("digest", [None, "0" * 40])
def test_giving_up_leaves_nothing_behind(digest: str | None, address: str, tmp_path: pathlib.Path) -> None:
    Moody.failures = 0 if digest else 9
    with pytest.raises(mx.MXNetError, match=r"put the file net\.params") as caught:
        utils.download(address, path=str(tmp_path), retries=1, sha1_hash=digest)
    assert Moody.asked == 2 and list(tmp_path.iterdir()) == []
    assert ("content hash does not match" in str(caught.value)) is bool(digest)


def test_arguments(address: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="Can't construct file-name"):
        utils.download("http://127.0.0.1/")
    with pytest.raises(ValueError, match="at least 0, currently it's -1"):
        utils.download(address, path=str(tmp_path), retries=-1)
    with pytest.warns(UserWarning, match="Unverified HTTPS request"):
        utils.download(address, path=str(tmp_path), verify_ssl=False)
