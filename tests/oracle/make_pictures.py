"""Make the small RecordIO files of real pictures that the tests of the image iterators read.

Run it from the root with gluonjax, Pillow and scikit-learn installed; writes tests/data/files/*.rec, .idx and .lst.
"""

from __future__ import annotations

import io
import pathlib

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_images

from gluonjax import recordio

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "files"
SIZES = [(40, 48), (48, 40), (36, 36), (50, 44), (44, 60), (60, 44), (40, 40)]


def pictures() -> list[np.ndarray]:
    """Cuts of scikit-learn's two photographs, each at another size."""
    photographs = load_sample_images().images
    draws = np.random.RandomState(3)
    found = []
    for number, (height, width) in enumerate(SIZES):
        source = photographs[number % 2]
        top, left = draws.randint(0, 427 - 2 * height), draws.randint(0, 640 - 2 * width)
        found.append(np.ascontiguousarray(source[top : top + 2 * height : 2, left : left + 2 * width : 2]))
    return found


def encoded(pixels: np.ndarray, kind: str) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind, **({"quality": 90} if kind == "JPEG" else {}))
    return stream.getvalue()


def boxes(number: int) -> list[float]:
    """A detection label: a header of two numbers, one to three objects of five."""
    draws = np.random.RandomState(number)
    label = [2.0, 5.0]
    for _ in range(1 + number % 3):
        left, top = draws.uniform(0, 0.5, 2)
        width, height = draws.uniform(0.2, 0.5, 2)
        label += [float(draws.randint(4)), left, top, left + width, top + height]
    return label


def write(name: str, labels: list[object], data: list[bytes]) -> None:
    record = recordio.MXIndexedRecordIO(str(FOLDER / f"{name}.idx"), str(FOLDER / f"{name}.rec"), "w")
    for number, (label, picture) in enumerate(zip(labels, data)):
        record.write_idx(number, recordio.pack(recordio.IRHeader(0, label, 10 + number, 0), picture))
    record.close()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    found = pictures()
    photographs = [encoded(pixels, "JPEG") for pixels in found]
    write("pictures", [number + 0.5 for number in range(7)], photographs)
    write("boxes", [boxes(number) for number in range(7)], photographs)
    alpha = [np.dstack([pixels[:14, :18], pixels[:14, :18, 0]]) for pixels in found[:3]]
    write("alpha", [1, 2, 3], [encoded(pixels, "PNG") for pixels in alpha])
    lines = [f"{10 + number}\t{number * 2}\t{number * 3}\tpicture{number}.jpg\n" for number in range(7)]
    (FOLDER / "pictures.lst").write_text("".join(lines))


if __name__ == "__main__":
    main()
