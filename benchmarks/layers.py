"""Speed and memory of the layers, as tables.

    python benchmarks/layers.py [--tables conv rate echo step backends vectors growth] [--plot growth.png]
        [--busy] [--keep-memory]

Each ratio comes from one run in which the two sides take turns, the best time of each counting. The baseline
is written as research code is: a tensor with a row per edge for every channel, ring and frequency, gathered,
index-added, and multiplied elementwise with the filter bank. Surfaces are random points on a flat torus, in
random order, so that neighbours are far apart in memory. Memory is the growth of the peak resident size of a
fresh process over one pass. The baseline of a whole training step would not fit into most machines; its time
is the sum over the network's convolutions and ECHO layers, each run alone, without the rest. On a machine
that others use at the same time, --busy counts processor time on one core instead of time on the clock.
As in training by the command line, idle threads of torch sleep instead of spinning; that serves both sides.
Both sides are timed with the C library's own treatment of freed memory. --keep-memory times both as training
runs, with `fieldconv.keep_freed_memory`: the per-edge ECHO votes then take less than half the time, ours gain
less, so that ratio falls. The memory of a training step is always measured so, since it takes more.
The table of backends compares portable torch with the compiled kernels, that of vectors the kernels with
plain numba loops, whose vector instructions are left to the compiler.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as the command line does, before torch is loaded

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from scipy.spatial import cKDTree
from torch import Tensor

from fieldconv import keep_freed_memory
from fieldconv.networks import FCNet
from fieldconv.nn import ECHO, FieldConv
from fieldconv.ops import echo_size, field_aggregate
from fieldconv.ops.disc import disc_cells, ring_weights
from fieldconv.surface import Surface
from fieldconv.tasks.base.label_task import cross_entropy

console = Console(width=110)

CONV = {
    "segmentation": {"vertices": 1024, "degree": 128, "channels": 48, "rings": 6, "band_limit": 2},
    "correspondence": {"vertices": 5000, "degree": 70, "channels": 32, "rings": 3, "band_limit": 1},
}
LARGE = {"vertices": 10_000, "degree": 78.8, "channels": 32, "rings": 6, "band_limit": 2}
VOTES = {"vertices": 1024, "degree": 116, "channels": 32, "radial_samples": 3}
STEPS = {
    "segmentation": {"vertices": 1024, "degree": 116, "classes": 8},
    "correspondence": {"vertices": 5000, "degree": 70, "classes": 5000},
}


def torus(vertices: int, degree: int) -> Surface:
    """Return random points of the flat unit torus with that mean number of neighbours, and random frames."""
    draw = np.random.default_rng(0)
    points = draw.random((vertices, 2))
    radius = float(np.sqrt(degree / (np.pi * vertices)))
    pairs = cKDTree(points, boxsize=1).query_pairs(radius, output_type="ndarray")
    selves = np.arange(vertices)
    q = np.concatenate([pairs[:, 0], pairs[:, 1], selves])
    p = np.concatenate([pairs[:, 1], pairs[:, 0], selves])
    order = np.lexsort([q, p])
    q, p = q[order], p[order]
    step = points[p] - points[q]
    step -= step.round()
    frame = np.exp(2j * np.pi * draw.random(vertices))
    log = (step[:, 0] + 1j * step[:, 1]) * frame[q].conj()
    return Surface(
        pos=torch.from_numpy(np.c_[points, 0 * selves]).float(),
        x=torch.from_numpy(np.c_[points, 0 * selves]).float(),
        area=torch.full((vertices,), 1 / vertices),
        edge_index=torch.from_numpy(np.stack([q, p])),
        log=torch.from_numpy(log).to(torch.complex64),
        transport=torch.from_numpy(frame[q] * frame[p].conj()).to(torch.complex64),
        weight=torch.from_numpy(1 / np.bincount(p)[p]).float(),
        radius=torch.tensor([radius]),
    )


# The baseline: tensors with a row per edge.


def per_edge_conv(x: Tensor, surface: Surface, conv: FieldConv) -> Tensor:
    sender, receiver = surface.edge_index
    lower, fraction = ring_weights(surface.log.abs() / surface.radius, conv.rings)
    psi = torch.zeros(len(sender), conv.rings)
    psi.scatter_(1, lower[:, None], (1 - fraction)[:, None])
    if conv.rings > 1:
        psi.scatter_(1, lower[:, None] + 1, fraction[:, None])
    orders = torch.arange(-conv.band_limit, conv.band_limit + 1)
    size, angle = x.abs()[sender], x.angle()[sender]
    relative = surface.log.angle()[:, None] - angle
    turn = (angle + surface.transport.angle()[:, None])[..., None] + orders * relative[..., None]
    transported = torch.polar((surface.weight[:, None] * size)[..., None].expand_as(turn).contiguous(), turn)
    votes = transported[:, :, None, :] * psi[:, None, :, None]  # (E, C, N, 2B+1)
    gathered = torch.zeros(len(x), *votes.shape[1:], dtype=x.dtype).index_add(0, receiver, votes)
    real, imag = conv.coefficients()
    filters = torch.complex(real, imag).permute(3, 2, 1, 0)  # (O, C, N, 2B+1)
    return (gathered[:, None] * filters).sum((2, 3, 4))


def per_edge_echo(x: Tensor, surface: Surface, radial_samples: int) -> Tensor:
    sender, receiver = surface.edge_index
    count, channels = x.shape
    side, cells = 2 * radial_samples + 2, (2 * radial_samples + 2) ** 2 + 1
    place = (radial_samples * surface.log / surface.radius)[:, None] * torch.exp(-1j * x.angle()[sender])
    votes = (surface.weight * surface.transport)[:, None] * x[sender]
    across, down = place.real, place.imag
    centre = (1 - 2 * across.abs()).clamp(min=0) * (1 - 2 * down.abs()).clamp(min=0)
    across, down = across + radial_samples + 0.5, down + radial_samples + 0.5
    column, row = across.detach().floor().long(), down.detach().floor().long()
    right, below = across - column, down - row
    image = (receiver[:, None] * channels + torch.arange(channels)) * cells
    corner = image + row * side + column
    index = torch.stack([corner, corner + 1, corner + side, corner + side + 1, image + cells - 1], -1)
    rest = 1 - centre
    shares = torch.stack(
        [
            rest * (1 - below) * (1 - right),
            rest * (1 - below) * right,
            rest * below * (1 - right),
            rest * below * right,
            centre,
        ],
        -1,
    )
    sums = torch.zeros(count * channels * cells, dtype=x.dtype)
    sums = sums.index_add(0, index.flatten(), (votes[..., None] * shares).flatten())
    return sums.view(count, channels, cells)[..., list(disc_cells(radial_samples))].abs()


# What is measured: functions that run one pass forward and backward.


def conv_pass(
    baseline: bool, vertices: int, degree: int, channels: int, rings: int, band_limit: int, **more: int
) -> Any:
    surface = torus(vertices, degree)
    conv = FieldConv(channels, more.get("out_channels", channels), rings=rings, band_limit=band_limit)
    x = torch.randn(vertices, channels, dtype=torch.complex64, requires_grad=True)
    gradient = torch.randn(vertices, conv.out_channels, dtype=torch.complex64)

    def run() -> None:
        out = per_edge_conv(x, surface, conv) if baseline else conv(x, surface)
        torch.autograd.grad(out, [x, *conv.parameters()], gradient)

    return run


def echo_pass(baseline: bool, vertices: int, degree: int, channels: int, radial_samples: int) -> Any:
    surface = torus(vertices, degree)
    echo = ECHO(radial_samples=radial_samples)
    x = torch.randn(vertices, channels, dtype=torch.complex64, requires_grad=True)
    gradient = torch.randn(vertices, channels, echo_size(radial_samples))

    def run() -> None:
        out = per_edge_echo(x, surface, radial_samples) if baseline else echo(x, surface)
        torch.autograd.grad(out, x, gradient)

    return run


def step_pass(baseline: bool, task: str, vertices: int, degree: int, classes: int) -> Any:
    assert not baseline
    surface = torus(vertices, degree)
    net = FCNet.for_task(task, classes=classes, preset="paper")
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    target = torch.randint(classes, (vertices,))

    def run() -> None:
        optimiser.zero_grad()
        cross_entropy(net(surface), target).mean().backward()
        optimiser.step()

    return run


PASSES: dict[str, Callable[..., Any]] = {
    "conv": conv_pass,
    "echo": echo_pass,
    "step": step_pass,
}


clock = time.perf_counter


def seconds(run: Callable[[], Any]) -> float:
    start = clock()
    run()
    return clock() - start


def race(baseline: Callable[[], Any], ours: Callable[[], Any], rounds: int, each: int) -> tuple[float, float]:
    """Return the best time of each; they take turns."""
    ours()
    slow, fast = [], []
    for _ in range(rounds):
        fast += [seconds(ours) for _ in range(each)]
        slow.append(seconds(baseline))
    gc.collect()
    return min(slow), min(fast)


def status(field: str) -> int:
    """Return bytes of this process, from Linux's status file."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"No {field} in /proc/self/status; memory is measured on Linux only.")


def print_memory(request: str) -> None:
    """Compile on a small case, then print the growth of the peak, and the peak; run in a fresh process."""
    kind, options = json.loads(request)
    if kind == "step":
        keep_freed_memory()
    small = {"vertices": 60, "degree": 8, **({"classes": 4} if kind == "step" else {})}
    PASSES[kind](**{**options, **small})()
    run = PASSES[kind](**options)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # resets the peak
    before = status("VmRSS")
    run()
    if kind == "step":
        run()  # the optimiser has allocated its memory
    print(status("VmHWM") - before, status("VmHWM"))


def memory(kind: str, backend: str = "auto", **options: Any) -> tuple[int, int]:
    """Return the growth of the peak over one pass, and the peak of the whole process, in bytes."""
    command = [sys.executable, __file__, "--print-memory", json.dumps([kind, options])]
    environment = {**os.environ, "FIELDCONV_BACKEND": backend}
    ran = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=environment)
    output = ran.stdout
    growth, total = map(int, output.split())
    return growth, total


def dense_rate() -> Callable[[], Any]:
    a = torch.randn(1024, 1024)
    return lambda: a @ a


DENSE = 2 * 1024**3


# Tables.


def table(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, title_justify="left", title_style="bold")


def megabytes(size: float) -> str:
    return f"{size / 2**20:,.0f} MB"


def milliseconds(time: float) -> str:
    return f"{1000 * time:,.1f} ms"


def show_conv() -> None:
    columns = "size", "per edge", "fieldconv", "faster", "per edge", "fieldconv", "leaner"
    rows = table("FieldConv, forward and backward: time and memory", *columns)
    for name, case in CONV.items():
        slow, fast = race(conv_pass(True, **case), conv_pass(False, **case), rounds=2, each=5)
        much, little = (memory("conv", baseline=baseline, **case)[0] for baseline in (True, False))
        sizes = milliseconds(slow), milliseconds(fast), f"{slow / fast:.0f} ×"
        rows.add_row(name, *sizes, megabytes(much), megabytes(little), f"{much / little:.0f} ×")
    console.print(rows)


def show_rate() -> None:
    """Count sixteen operations per edge, frequency and channel: a complex product added to two rings."""
    rows = table(
        "Aggregation against a dense product, billions of operations per second",
        "size", "dense", "aggregate", "share", "its adjoint", "share",
    )  # fmt: skip
    for name, case in CONV.items():
        surface = torus(case["vertices"], case["degree"])
        options = {"rings": case["rings"], "band_limit": case["band_limit"]}
        x = torch.randn(case["vertices"], case["channels"], dtype=torch.complex64, requires_grad=True)
        out = field_aggregate(x, surface, **options)
        gradient = torch.randn_like(out)
        work = 16 * len(surface.log) * (2 * case["band_limit"] + 1) * case["channels"]

        def forward(x: Tensor = x, surface: Surface = surface, options: Any = options) -> Tensor:
            return field_aggregate(x.detach(), surface, **options)

        def backward(out: Tensor = out, x: Tensor = x, gradient: Tensor = gradient) -> Any:
            return torch.autograd.grad(out, x, gradient, retain_graph=True)

        dense, there = race(dense_rate(), forward, rounds=20, each=1)
        dense_again, back = race(dense_rate(), backward, rounds=20, each=1)
        dense = min(dense, dense_again)
        rates = [DENSE / dense / 1e9, work / there / 1e9, work / back / 1e9]
        shares = [f"{rate:.0f}" for rate in rates], [f"{rate / rates[0]:.2f}" for rate in rates]
        rows.add_row(name, shares[0][0], shares[0][1], shares[1][1], shares[0][2], shares[1][2])
    console.print(rows)


def show_echo() -> None:
    rows = table("ECHO votes, forward and backward", "size", "per edge", "fieldconv", "faster")
    slow, fast = race(echo_pass(True, **VOTES), echo_pass(False, **VOTES), rounds=3, each=5)
    rows.add_row("segmentation", milliseconds(slow), milliseconds(fast), f"{slow / fast:.0f} ×")
    console.print(rows)


def baseline_step(task: str, vertices: int, degree: int, classes: int) -> float:
    """Time the convolutions and ECHO of the network, per edge, each alone, and add them up."""
    net = FCNet.for_task(task, classes=classes, preset="paper")
    convs = Counter(
        (m.in_channels, m.out_channels, m.rings, m.band_limit)
        for m in net.modules()
        if isinstance(m, FieldConv)
    )
    total = 0.0
    for (inside, outside, rings, band_limit), times in convs.items():
        run = conv_pass(
            True, vertices, degree, inside, rings=rings, band_limit=band_limit, out_channels=outside
        )
        total += times * min(seconds(run), seconds(run))
        del run
        gc.collect()
    config = net.config
    run = echo_pass(True, vertices, degree, config.echo_channels, config.echo_samples)
    return total + min(seconds(run), seconds(run))


def show_step() -> None:
    rows = table("A whole training step", "network", "per edge", "fieldconv", "faster", "memory in total")
    for task, case in STEPS.items():
        run = step_pass(False, task, **case)
        run()
        times = [seconds(run) for _ in range(4)]
        slow = baseline_step(task, **case)
        fast = min(times + [seconds(run) for _ in range(4)])
        total = memory("step", baseline=False, task=task, **case)[1]
        rows.add_row(task, milliseconds(slow), milliseconds(fast), f"{slow / fast:.0f} ×", megabytes(total))
    console.print(rows)


def with_backend(backend: str, run: Callable[[], Any]) -> Callable[[], Any]:
    def chosen() -> None:
        os.environ["FIELDCONV_BACKEND"] = backend
        run()
        del os.environ["FIELDCONV_BACKEND"]

    return chosen


def show_backends() -> None:
    rows = table(
        "Portable torch against compiled kernels, forward and backward: time and growth of memory",
        "", "compiled", "torch", "slower", "compiled", "torch", "larger",
    )  # fmt: skip
    cases: dict[str, tuple[str, dict[str, Any]]] = {
        f"convolution, {name}": ("conv", case) for name, case in CONV.items()
    }
    cases["convolution, 788,000 edges"] = "conv", LARGE
    cases["ECHO, segmentation"] = "echo", VOTES
    cases.update({f"training step, {task}": ("step", {"task": task, **case}) for task, case in STEPS.items()})
    for name, (kind, case) in cases.items():
        run = PASSES[kind](baseline=False, **case)
        with_backend("torch", run)()
        slow, fast = race(with_backend("torch", run), with_backend("compiled", run), rounds=5, each=1)
        much, little = (memory(kind, backend, baseline=False, **case)[0] for backend in ("torch", "compiled"))
        times = milliseconds(fast), milliseconds(slow), f"{slow / fast:.1f} ×"
        rows.add_row(name, *times, megabytes(little), megabytes(much), f"{much / little:.1f} ×")
    console.print(rows)


# The kernels once more, without the vectors of `fieldconv.ops.compiled.simd`.


def plain_gather(edges: Any, first_order: int, rings: int, y: Any, result: Any) -> None:
    """y (orders, n, 2, C), in the order of the edges, to result (n, orders, rings, 2, C)."""
    orders, count, _, channels = y.shape
    bands = edges.bands
    total, outer, before = np.empty((3, 2, channels), y.dtype)
    for k in range(orders):
        for i in range(count):
            before[:] = 0
            for band in range(bands):
                total[:] = 0
                outer[:] = 0
                for e in range(edges.offsets[i * bands + band], edges.offsets[i * bands + band + 1]):
                    a, b, share = plain_factor(edges, e, first_order + k)
                    re, im = y[k, edges.neighbour[e], 0], y[k, edges.neighbour[e], 1]
                    for c in range(channels):
                        u, v = a * re[c] - b * im[c], a * im[c] + b * re[c]
                        total[0, c] += u
                        total[1, c] += v
                        outer[0, c] += share * u
                        outer[1, c] += share * v
                result[edges.point[i], k, band] = before + total - outer
                before[:] = outer
            if rings > 1:
                result[edges.point[i], k, bands] = before


def plain_scatter(edges: Any, first_order: int, rings: int, gradient: Any, result: Any) -> None:
    orders, count, _, channels = result.shape
    bands = edges.bands
    for k in range(orders):
        for i in range(count):
            for band in range(bands):
                inner = gradient[edges.point[i], k, band]
                rise = gradient[edges.point[i], k, min(band + 1, rings - 1)] - inner
                for e in range(edges.offsets[i * bands + band], edges.offsets[i * bands + band + 1]):
                    a, b, share = plain_factor(edges, e, first_order + k)
                    re, im = result[k, edges.neighbour[e], 0], result[k, edges.neighbour[e], 1]
                    for c in range(channels):
                        u, v = inner[0, c] + share * rise[0, c], inner[1, c] + share * rise[1, c]
                        re[c] += a * u + b * v
                        im[c] += a * v - b * u


def plain_factor(edges: Any, e: int, order: int) -> Any:
    a, b, cos, sin = (
        edges.transport[0, e],
        edges.transport[1, e],
        edges.direction[0, e],
        edges.direction[1, e],
    )
    sin = sin if order > 0 else -sin
    for _ in range(abs(order)):
        a, b = a * cos - b * sin, a * sin + b * cos
    return a, b, edges.fraction[e]


def plain_vote(cast: Any, magnitudes: Any) -> None:
    edges, number = cast.edges, cast.features.dtype.type
    cells = len(cast.cell_start)
    channels, samples = magnitudes.shape[1] // cells, cast.radial_samples
    side = 2 * samples + 2
    half, one, two, none = number(0.5), number(1), number(2), number(0)
    far, middle = number(samples), number(samples + 0.5)
    votes, centre = np.empty((channels, 2 * side * side + 4), number), np.empty((channels, 2), number)
    corner, (right, below, re, im) = np.empty(channels, np.int64), np.empty((4, channels), number)
    for turn in range(len(edges.point)):
        votes[:] = 0
        centre[:] = 0
        for e in range(edges.offsets[turn], edges.offsets[turn + 1]):
            real, imag, reach = (
                edges.transport[0, e],
                edges.transport[1, e],
                far * edges.distance[e],
            )
            east, north = reach * edges.direction[0, e], reach * edges.direction[1, e]
            value, sender = cast.features[edges.neighbour[e]], cast.features[edges.neighbour[e], 2:]
            for d in range(channels):
                a, b = real * value[0, d] - imag * value[1, d], imag * value[0, d] + real * value[1, d]
                x, y = east * sender[0, d] + north * sender[1, d], north * sender[0, d] - east * sender[1, d]
                if reach * reach < half:
                    share = max(one - two * abs(x), none) * max(one - two * abs(y), none)
                    centre[d, 0] += share * a
                    centre[d, 1] += share * b
                    a, b = a - share * a, b - share * b
                column, row = np.floor(x + middle), np.floor(y + middle)
                right[d], below[d], re[d], im[d] = x + middle - column, y + middle - row, a, b
                corner[d] = np.int64(2 * side * row + 2 * column)
            for d in range(channels):
                upper, lower, low = corner[d], corner[d] + 2 * side, below[d]
                on = right[d] * re[d], right[d] * im[d]
                for step, part in enumerate((re[d] - on[0], im[d] - on[1], on[0], on[1])):
                    votes[d, upper + step] += part - low * part
                    votes[d, lower + step] += low * part
        p = edges.point[turn]
        for d in range(channels):
            for h in range(cells):
                cell = centre[d] if h == cells - 1 else votes[d, cast.cell_start[h] : cast.cell_start[h] + 2]
                cast.image[p, 2 * (d * cells + h) : 2 * (d * cells + h + 1)] = cell
                magnitudes[p, d * cells + h] = np.sqrt(cell[0] * cell[0] + cell[1] * cell[1])


def show_vectors() -> None:
    """Time each kernel alone, on one thread."""
    global plain_factor
    import numba

    from fieldconv.ops import Geometry
    from fieldconv.ops.compiled import aggregate_kernels as aggregate
    from fieldconv.ops.compiled import echo_kernels as echo
    from fieldconv.ops.compiled.sorted_edges import sorted_edges

    plain = numba.njit(error_model="numpy", fastmath={"contract"})
    plain_factor = plain(plain_factor)
    rows = table("Kernels with and without the vectors of simd.py", "kernel", "without", "with", "faster")

    def planar(values: Tensor) -> Any:
        return torch.view_as_real(values).movedim(-1, -2).contiguous().numpy()

    def add(name: str, without: Callable[[], Any], with_vectors: Callable[[], Any]) -> None:
        slow, fast = race(without, with_vectors, rounds=10, each=1)
        rows.add_row(name, milliseconds(slow), milliseconds(fast), f"{slow / fast:.1f} ×")

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    gather, scatter, vote = plain(plain_gather), plain(plain_scatter), plain(plain_vote)
    for name, case in CONV.items():
        geometry = Geometry.of(torus(case["vertices"], case["degree"]))
        orders, rings = 2 * case["band_limit"] + 1, case["rings"]
        y = torch.randn(orders, case["vertices"], case["channels"], dtype=torch.complex64)
        options = geometry, -case["band_limit"], rings, "linear", False
        edges = sorted_edges(geometry, case["vertices"], rings, "linear", torch.float32)
        without = edges, -case["band_limit"], rings
        gathered = aggregate.gather(y, *options)
        ordered, out = planar(y[:, edges.point]), planar(torch.zeros_like(gathered))
        add(
            f"aggregate, {name}",
            partial(gather, *without, ordered, out),
            partial(aggregate.gather, y, *options),
        )
        np.testing.assert_allclose(out, planar(gathered), rtol=1e-3, atol=1e-5)
        adjoint = partial(aggregate.scatter, gathered, *options)
        add(f"its adjoint, {name}", partial(scatter, *without, out, ordered), adjoint)
    geometry = Geometry.of(torus(VOTES["vertices"], VOTES["degree"]))
    x = torch.randn(VOTES["vertices"], VOTES["channels"], dtype=torch.complex64)
    samples = VOTES["radial_samples"]
    descriptors, image = echo.vote(x, geometry, samples, True)
    cast = echo.cast_of(x, geometry, image, samples, True, sized=True)
    lengths = torch.zeros_like(descriptors).flatten(1).numpy()
    add("ECHO votes", partial(vote, cast, lengths), partial(echo.vote, x, geometry, samples, True))
    np.testing.assert_allclose(lengths, descriptors.flatten(1).numpy(), rtol=1e-3, atol=1e-5)
    torch.set_num_threads(threads)
    console.print(rows)


def show_growth(plot: Path | None) -> None:
    base = CONV["correspondence"]
    sweeps = {
        "vertices": [5_000, 10_000, 20_000, 40_000, 80_000],
        "channels": [16, 32, 64, 128],
        "band_limit": [0, 1, 2, 3, 4],
    }
    times: dict[str, list[tuple[int, float, float]]] = {}
    rows = table(
        "Growth of FieldConv, forward and backward", "", "", "time", "per unit", "memory", "per unit"
    )
    for name, values in sweeps.items():
        for value in values:
            case = {**base, "out_channels": 32, name: value}
            run = conv_pass(False, **case)
            run()
            taken = min(seconds(run) for _ in range(5))
            del run
            size = memory("conv", baseline=False, **case)[0]
            units = 2 * value + 1 if name == "band_limit" else value
            label = f"2B + 1 = {units}" if name == "band_limit" else f"{value:,}"
            unit_time, unit_size = f"{1e6 * taken / units:,.1f} µs", f"{size / units / 1024:,.1f} kB"
            rows.add_row(name, label, milliseconds(taken), unit_time, megabytes(size), unit_size)
            times.setdefault(name, []).append((units, taken, size))
        rows.add_section()
    console.print(rows)
    if plot:
        draw(times, plot)


def draw(times: dict[str, list[tuple[int, float, float]]], path: Path) -> None:
    from matplotlib.figure import Figure

    from fieldconv._io import atomic_path

    names = {"vertices": "vertices", "channels": "channels", "band_limit": "frequencies 2B + 1"}
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots(2, 3, sharex="col")
    for column, (name, points) in enumerate(times.items()):
        units, times, sizes = np.array(points).T
        for axis, values, label in zip(
            axes[:, column], (times * 1e3, sizes / 2**20), ("ms", "MB"), strict=True
        ):
            axis.plot(units, values, "o-", color="tab:blue")
            axis.plot([0, units[-1]], [0, values[-1]], "--", color="0.7", zorder=0)
            axis.set_ylim(bottom=0)
            axis.set_xlim(left=0)
            if column == 0:
                axis.set_ylabel(f"{label}, forward and backward")
        axes[1, column].set_xlabel(names[name])
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shows = {
        "conv": show_conv,
        "rate": show_rate,
        "echo": show_echo,
        "step": show_step,
        "backends": show_backends,
        "vectors": show_vectors,
    }
    names = [*shows, "growth"]
    parser.add_argument("--tables", nargs="+", choices=names, default=names)
    parser.add_argument("--plot", type=Path, help="write the growth curves to this PNG")
    parser.add_argument("--print-memory", help=argparse.SUPPRESS)
    parser.add_argument("--busy", action="store_true", help="processor time on one core, not clock time")
    parser.add_argument("--keep-memory", action="store_true", help="keep freed memory, as training does")
    options = parser.parse_args()
    torch.manual_seed(0)
    if options.busy:
        global clock
        clock = time.process_time
        torch.set_num_threads(1)
    if options.print_memory:
        return print_memory(options.print_memory)
    if options.keep_memory:
        keep_freed_memory()
    for name in options.tables:
        if name == "growth":
            show_growth(options.plot)
        else:
            shows[name]()


if __name__ == "__main__":
    main()
