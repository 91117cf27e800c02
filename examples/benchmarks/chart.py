"""The benchmarks' charts as PNG files, with matplotlib.

    python examples/benchmarks/chart.py results.json chart.png

draws the comparison again from the numbers that compare.py kept.
"""

import json
import pathlib
import sys

COLOURS = {"mxnet": "#b5651d", "jax": "#1f6f8b", "whole step": "#6aa84f"}
LABELS = {
    "mxnet": "gluonjax / MXNet 1.9.1",
    "jax": "gluonjax / JAX by hand",
    "whole step": "gluonjax under mx.jit / JAX by hand",
}


def pyplot():
    """matplotlib, drawing to files only."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("the chart needs matplotlib: pip install matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as found

    return found


def comparison(ratios, path):
    """Horizontal bars of {workload: {rival: ratio}} on a logarithmic axis; shorter than 1 is faster."""
    plt = pyplot()
    names = list(ratios)[::-1]
    figure, axes = plt.subplots(figsize=(10, 1.5 + 0.45 * len(names)), layout="constrained")
    height = 0.26
    for place, rival in enumerate(("mxnet", "jax", "whole step")):
        rows = [(y, ratios[name][rival]) for y, name in enumerate(names) if rival in ratios[name]]
        if not rows:
            continue
        at = [y + (1 - place) * height for y, _ in rows]
        # Bars grow from 1, the rival's own time.
        widths = [value - 1 for _, value in rows]
        bars = axes.barh(at, widths, height, left=1, color=COLOURS[rival], label=LABELS[rival])
        axes.bar_label(bars, ["%.2f" % value for _, value in rows], padding=2, fontsize=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    low = min((value for row in ratios.values() for value in row.values()), default=0.5)
    high = max((value for row in ratios.values() for value in row.values()), default=2.0)
    axes.set_xlim(min(low, 0.5) / 1.5, max(high, 2.0) * 1.5)
    marks = [
        mark for mark in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if low / 1.5 <= mark <= high * 1.5 or mark == 1
    ]
    axes.set_xticks(marks, ["%gx" % mark for mark in marks])
    axes.minorticks_off()
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.set_xlabel("time of a step relative to the rival's (bars to the left: gluonjax is faster)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.06), ncols=3, fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def lines(panels, path):
    """A panel for each {title: (x label, {series: ([x, ...], [microseconds, ...])})}."""
    plt = pyplot()
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(5.2 * columns, 3.6 * rows), squeeze=False, layout="constrained")
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes, (title, (label, series)) in zip(grid.flat, panels.items()):
        for name, (xs, times) in series.items():
            axes.plot(xs, times, marker="o", markersize=4, label=name)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(label)
        axes.set_ylabel("microseconds a step")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    from compare import ratios

    kept = json.loads(pathlib.Path(sys.argv[1]).read_text())
    comparison({name: ratios(row) for name, row in kept.items() if "failed" not in row}, sys.argv[2])
