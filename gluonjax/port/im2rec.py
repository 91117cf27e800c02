"""``python -m gluonjax im2rec``: list the pictures of a folder, and pack them into RecordIO files.

The options and the files are those of MXNet's tools/im2rec.py: with ``--list`` it writes ``.lst`` files, without it
packs the pictures of every ``.lst`` file that begins with the prefix.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import numpy as np

from gluonjax import recordio
from gluonjax._base.errors import MXNetError
from gluonjax._images.record_codec import decode_picture
from gluonjax._images.resample import resize
from gluonjax.port.progress import Progress

# The order of a list is the same in every run, as MXNet's.
_LIST_SEED = 100
# Pictures that are worked on ahead of the one that is written, for each thread.
_AHEAD = 8


class Entry(NamedTuple):
    """A line of a list: number, labels and path below the root."""

    number: int
    labels: tuple[float, ...]
    path: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add im2rec's arguments to a parser."""
    parser.add_argument("prefix", help="prefix of the .lst, .rec and .idx files")
    parser.add_argument("root", help="folder of the pictures")
    listing = parser.add_argument_group("options for lists")
    listing.add_argument("--list", action="store_true", help="write .lst files instead of .rec files")
    listing.add_argument("--exts", nargs="+", default=[".jpeg", ".jpg", ".png"], help="endings of picture files")
    listing.add_argument("--chunks", type=int, default=1, help="number of lists to write")
    listing.add_argument("--train-ratio", type=float, default=1.0, help="part of the pictures to train with")
    listing.add_argument("--test-ratio", type=float, default=0.0, help="part of the pictures to test with")
    listing.add_argument("--recursive", action="store_true", help="look into sub-folders; each is a class of its own")
    listing.add_argument("--no-shuffle", dest="shuffle", action="store_false", help="keep the order of the names")
    listing.add_argument("--shuffle", dest="shuffle", action="store_true", default=True, help="the default")
    packing = parser.add_argument_group("options for records")
    packing.add_argument("--pass-through", action="store_true", help="store the files as they are")
    packing.add_argument("--resize", type=int, default=0, help="resize the shorter side to this; 0 for no resizing")
    packing.add_argument("--center-crop", action="store_true", help="cut out the square in the middle first")
    packing.add_argument("--quality", type=int, default=95, help="JPEG: 1 to 100; PNG: compression, 0 to 9")
    packing.add_argument("--num-thread", type=int, default=1, help="pictures to work on at a time")
    packing.add_argument("--color", type=int, default=1, choices=[-1, 0, 1], help="1 colour, 0 gray, -1 as it is")
    packing.add_argument("--encoding", default=".jpg", choices=[".jpg", ".png"], help="how to store the pictures")
    packing.add_argument("--pack-label", action="store_true", help="store all labels of a line, not only the first")


def list_pictures(root: str, recursive: bool, endings: list[str]) -> Iterator[tuple[str, int]]:
    """Yield paths below ``root`` and their classes: with ``recursive`` a number for each folder, else 0."""
    wanted = tuple(ending.lower() for ending in endings)
    classes = 0
    for folder, folders, names in os.walk(root, followlinks=True):
        folders[:] = sorted(folders) if recursive else []
        pictures = [name for name in sorted(names) if name.lower().endswith(wanted)]
        for name in pictures:
            yield os.path.relpath(os.path.join(folder, name), root), classes
        if pictures:
            if recursive:
                print(os.path.relpath(folder, root), classes)
            classes += recursive


def write_list(path: str, entries: list[Entry]) -> None:
    """Write a ``.lst`` file."""
    with open(path, "w", encoding="utf-8") as stream:
        for entry in entries:
            labels = "".join(f"{label:f}\t" for label in entry.labels)
            stream.write(f"{entry.number}\t{labels}{entry.path}\n")


def make_lists(options: argparse.Namespace) -> list[str]:
    """Write the lists that the options ask for; the answer is their paths."""
    if options.train_ratio + options.test_ratio > 1 or min(options.train_ratio, options.test_ratio) < 0:
        raise MXNetError(
            f"im2rec: --train-ratio {options.train_ratio} and --test-ratio {options.test_ratio} must not be negative, "
            "and together at most 1"
        )
    found = list_pictures(options.root, options.recursive, options.exts)
    entries = [Entry(number, (float(label),), path) for number, (path, label) in enumerate(found)]
    if not entries:
        where = options.root if options.recursive else f"{options.root} (sub-folders only with --recursive)"
        raise MXNetError(f"im2rec: there is no picture ({', '.join(options.exts)}) in {where}")
    if options.shuffle:
        random.Random(_LIST_SEED).shuffle(entries)
    size = -(-len(entries) // options.chunks)
    written: list[str] = []
    for number in range(options.chunks):
        chunk = entries[number * size : (number + 1) * size]
        stem = f"{options.prefix}_{number}" if options.chunks > 1 else options.prefix
        test, train = int(size * options.test_ratio), int(size * options.train_ratio)
        parts = {"": chunk}
        if options.train_ratio != 1:
            parts = {"_train": chunk[test : test + train]}
            if options.test_ratio:
                parts["_test"] = chunk[:test]
            if options.train_ratio + options.test_ratio < 1:
                parts["_val"] = chunk[test + train :]
        for ending, part in parts.items():
            written.append(f"{stem}{ending}.lst")
            write_list(written[-1], part)
    return written


def read_list(path: str) -> Iterator[Entry]:
    """Yield the lines of a ``.lst`` file; those that cannot be read are reported and left out."""
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            words = [word.strip() for word in line.strip().split("\t")]
            if not any(words):
                continue
            try:
                if len(words) < 3:
                    raise ValueError(f"{len(words)} fields")
                yield Entry(int(words[0]), tuple(float(word) for word in words[1:-1]), words[-1])
            except ValueError as error:
                _complain(f"{path}, line {number}: wanted number, labels and path with tabs between, found {error}")


def _complain(text: str) -> None:
    print(f"im2rec: {text}", file=sys.stderr)


def pack_entry(entry: Entry, options: argparse.Namespace) -> bytes:
    """The record of one picture. Raises MXNetError or OSError where it cannot be read."""
    several = options.pack_label and len(entry.labels) > 1
    label = entry.labels if several else next(iter(entry.labels))
    header = recordio.IRHeader(0, label, entry.number, 0)
    with open(os.path.join(options.root, entry.path), "rb") as stream:
        data = stream.read()
    if options.pass_through:
        return recordio.pack(header, data)
    pixels = decode_picture(data, options.color)
    if pixels is None:
        raise MXNetError("not a picture that can be decoded")
    return recordio.pack_img(header, _sized(pixels, options), options.quality, options.encoding)


def _sized(pixels: np.ndarray, options: argparse.Namespace) -> np.ndarray:
    if options.center_crop and pixels.shape[0] != pixels.shape[1]:
        height, width = pixels.shape[:2]
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        pixels = pixels[top : top + side, left : left + side]
    if not options.resize:
        return pixels
    height, width = pixels.shape[:2]
    size = (options.resize, height * options.resize // width)
    if height <= width:
        size = (width * options.resize // height, options.resize)
    planes = pixels if pixels.ndim == 3 else pixels[:, :, None]
    return resize(planes, *size).reshape(size[1], size[0], *pixels.shape[2:])


def make_records(listing: str, options: argparse.Namespace) -> tuple[int, int]:
    """Pack the pictures of a list beside it; how many were packed, and how many could not be."""
    entries = list(read_list(listing))
    stem = os.path.splitext(listing)[0]
    parts = {f"{stem}{ending}": f"{stem}{ending}.part" for ending in (".rec", ".idx")}
    record = recordio.MXIndexedRecordIO(parts[f"{stem}.idx"], parts[f"{stem}.rec"], "w")
    progress = Progress(os.path.basename(stem) + ".rec", len(entries), "pictures")
    failed = 0
    with ThreadPoolExecutor(max(1, options.num_thread), "im2rec") as pool:
        for entry, packed in _in_order(pool, entries, options):
            try:
                record.write_idx(entry.number, packed.result())
            except (MXNetError, OSError) as error:
                failed += 1
                _complain(f"left out {os.path.join(options.root, entry.path)}: {error}")
            progress.step()
    record.close()
    progress.close()
    for final, part in parts.items():
        os.replace(part, final)
    return len(entries) - failed, failed


def _in_order(
    pool: ThreadPoolExecutor, entries: list[Entry], options: argparse.Namespace
) -> Iterator[tuple[Entry, Future[bytes]]]:
    """Pairs of entries and their records to come, of which only a few are worked on at a time."""
    rest = iter(entries)
    waiting = [(entry, pool.submit(pack_entry, entry, options)) for entry in islice(rest, _AHEAD * options.num_thread)]
    while waiting:
        yield waiting.pop(0)
        for entry in islice(rest, 1):
            waiting.append((entry, pool.submit(pack_entry, entry, options)))


def main(options: argparse.Namespace) -> int:
    """Run the command; the answer is the exit status."""
    if not os.path.isdir(options.root):
        _complain(f"there is no folder {options.root!r}")
        return 2
    options.prefix = os.path.abspath(options.prefix)
    options.num_thread = max(1, options.num_thread)
    try:
        if options.list:
            for path in make_lists(options):
                print(path)
            return 0
        folder, stem = os.path.split(options.prefix)
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        lists = [os.path.join(folder, name) for name in names if name.startswith(stem) and name.endswith(".lst")]
        if not lists:
            _complain(f"no list begins with {options.prefix!r}; make one first: add --list to this command")
            return 2
        counts = [make_records(path, options) for path in lists]
    except MXNetError as error:
        _complain(str(error).removeprefix("im2rec: "))
        return 2
    packed, failed = (sum(column) for column in zip(*counts))
    print(f"{packed} pictures packed, {failed} left out")
    return 0 if packed else 1
