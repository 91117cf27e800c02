"""``python -m gluonjax im2rec``: lists, records, and who can read them."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

from gluonjax import image, io, recordio
from gluonjax.gluon.data.vision import ImageRecordDataset
from gluonjax.port import cli
from gluonjax.port.progress import Progress

PIL = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Ten pictures: classes cat (4) and dog (6), of different sizes, each of one colour."""
    root = tmp_path / "pictures"
    for kind, count, ending in (("cat", 4, "png"), ("dog", 6, "jpg")):
        (root / kind).mkdir(parents=True)
        for number in range(count):
            pixels = np.full((20 + number, 30 - number, 3), (10 * number, 40, 200), np.uint8)
            PIL.fromarray(pixels).save(root / kind / f"{number}.{ending}", quality=95)
    (root / "dog" / "notes.txt").write_text("no picture")
    return root


def run(*arguments: Any) -> int:
    return cli.main(["im2rec", *map(str, arguments)])


def rows(path: pathlib.Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def records(stem: pathlib.Path) -> dict[int, tuple[Any, bytes]]:
    record = recordio.MXIndexedRecordIO(f"{stem}.idx", f"{stem}.rec", "r")
    return {key: recordio.unpack(record.read_idx(key) or b"") for key in record.keys}


def test_lists(folder: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    stem = tmp_path / "all"
    assert run(stem, folder, "--list", "--recursive", "--no-shuffle") == 0
    assert capsys.readouterr().out.splitlines() == ["cat 0", "dog 1", f"{stem}.lst"]
    found = rows(tmp_path / "all.lst")
    assert found[0] == ["0", "0.000000", "cat/0.png"] and found[-1] == ["9", "1.000000", "dog/5.jpg"]
    assert len(found) == 10
    assert run(stem, folder, "--list", "--recursive") == 0
    mixed = rows(tmp_path / "all.lst")
    assert mixed != found and sorted(mixed) == sorted(found)
    assert run(stem, folder / "cat", "--list", "--exts", ".png", "--no-shuffle") == 0
    assert [row[1:] for row in rows(tmp_path / "all.lst")] == [["0.000000", f"{number}.png"] for number in range(4)]


def test_chunks_and_ratios(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    stem = tmp_path / "part"
    options = ("--list", "--recursive", "--chunks", 2, "--train-ratio", 0.6, "--test-ratio", 0.2)
    assert run(stem, folder, *options) == 0
    sizes = {path.name: len(rows(path)) for path in tmp_path.glob("part*.lst")}
    assert sizes == {f"part_{chunk}_{name}.lst": size for chunk in (0, 1) for name, size in
                     (("train", 3), ("test", 1), ("val", 1))}  # fmt: skip
    numbers = [row[0] for path in tmp_path.glob("part*.lst") for row in rows(path)]
    assert sorted(numbers, key=int) == [str(number) for number in range(10)]


def test_records(folder: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    stem = tmp_path / "all"
    assert run(stem, folder, "--list", "--recursive") == 0
    assert run(stem, folder, "--resize", 12, "--encoding", ".png", "--quality", 3, "--num-thread", 3) == 0
    captured = capsys.readouterr()
    assert "10 pictures packed, 0 left out" in captured.out
    assert "all.rec [##############################] 10/10 pictures" in captured.err
    assert not list(tmp_path.glob("*.part"))
    listed = {int(number): (float(label), path) for number, label, path in rows(tmp_path / "all.lst")}
    found = records(stem)
    # In the order of the list, whatever thread was first.
    assert list(found) == list(listed)
    for key, (header, data) in found.items():
        label, path = listed[key]
        assert (header.id, header.label, header.flag) == (key, label, 0)
        number = int(pathlib.Path(path).stem)
        pixels = image.imdecode(data).asnumpy()
        short, long = 20 + number, 30 - number
        assert sorted(pixels.shape[:2]) == [12, 12 * max(short, long) // min(short, long)]
        assert np.abs(pixels.astype(int) - (10 * number, 40, 200)).max() <= 3
    (batch,) = io.ImageRecordIter(
        path_imgrec=f"{stem}.rec", path_imgidx=f"{stem}.idx", data_shape=(3, 8, 8), batch_size=10, verbose=False
    )
    assert batch.label[0].asnumpy().tolist() == [label for label, _ in listed.values()]
    assert len(ImageRecordDataset(f"{stem}.rec")) == 10


def test_options_of_pictures(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    stem = tmp_path / "one"
    assert run(stem, folder / "dog", "--list", "--no-shuffle") == 0
    assert run(stem, folder / "dog", "--pass-through") == 0
    assert records(stem)[3][1] == (folder / "dog" / "3.jpg").read_bytes()
    assert run(stem, folder / "dog", "--center-crop", "--color", 0, "--encoding", ".png", "--quality", 1) == 0
    _, pixels = recordio.unpack_img(b"".join([recordio.pack(records(stem)[2][0], records(stem)[2][1])]))
    assert pixels.shape == (22, 22)
    assert run(stem, folder / "dog", "--quality", 5) == 0
    small = len(records(stem)[0][1])
    assert run(stem, folder / "dog", "--quality", 100) == 0
    assert len(records(stem)[0][1]) > small


def test_several_labels(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "many.lst").write_text("7\t1.5\t2.5\tcat/0.png\n3\t3\t4\tcat/1.png\n")
    assert run(tmp_path / "many", folder, "--pack-label") == 0
    assert {key: header.label.tolist() for key, (header, _) in records(tmp_path / "many").items()} == {
        7: [1.5, 2.5], 3: [3, 4]
    }  # fmt: skip
    assert run(tmp_path / "many", folder) == 0
    assert records(tmp_path / "many")[7][0].label == 1.5


def test_what_cannot_be_packed(
    folder: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "cat" / "0.png").write_bytes(b"damaged")
    (tmp_path / "bad.lst").write_text("0\t1\tcat/0.png\n1\t1\tcat/none.png\nthree\n3\t1\tcat/1.png\n")
    assert run(tmp_path / "bad", folder) == 0
    captured = capsys.readouterr()
    assert "1 pictures packed, 2 left out" in captured.out
    assert "bad.lst, line 3" in captured.err and "none.png" in captured.err and "can be decoded" in captured.err
    assert list(records(tmp_path / "bad")) == [3]
    assert run(tmp_path / "none", folder) == 2
    assert "add --list" in capsys.readouterr().err
    assert run(tmp_path / "none", tmp_path / "nowhere") == 2
    assert run(tmp_path / "none", folder, "--list", "--train-ratio", 0.9, "--test-ratio", 0.3) == 2
    assert run(tmp_path / "none", folder, "--list") == 2
    assert "only with --recursive" in capsys.readouterr().err


def test_progress() -> None:
    import io as streams

    class Terminal(streams.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    progress = Progress("x", 2, "things", stream)
    progress.step()
    progress.step()
    progress.close()
    assert stream.getvalue().endswith("2/2 things, " + stream.getvalue().rsplit(", ", 1)[1])
    assert stream.getvalue().startswith("\rx [")


@pytest.mark.filterwarnings("ignore")
def test_training_from_records(tmp_path: pathlib.Path) -> None:
    """The example at a small size: files, im2rec, ImageRecordIter, Module.fit with progress, and what it reaches."""
    import os
    import re
    import subprocess
    import sys

    pytest.importorskip("sklearn")
    root = pathlib.Path(__file__).resolve().parent.parent
    environment = {
        **os.environ, "EXAMPLE_EPOCHS": "5", "EXAMPLE_IMAGES": "700", "EXAMPLE_FOLDER": str(tmp_path),
        "PYTHONPATH": str(root),
    }  # fmt: skip
    script = str(root / "examples" / "records_module.py")
    done = subprocess.run(
        [sys.executable, "-m", "gluonjax", "run", script], capture_output=True, text=True, env=environment, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert "700 pictures packed, 0 left out" in done.stdout
    assert re.search(r"Epoch\[4\] Batch \[0-15\]\s+Speed: [\d.]+ samples/sec\s+accuracy=", done.stdout)
    assert float(re.findall(r"held-out accuracy: ([\d.]+)", done.stdout)[0]) > 0.9
