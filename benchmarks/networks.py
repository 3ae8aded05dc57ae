"""Time of a training step and of preparation, networks side by side on one mesh of 5,000 vertices.

    python benchmarks/networks.py [--rounds 9] [--busy] [--vertices 5000] [--classes 5000] [--parts]

The paper's correspondence network against DiffusionNet (four blocks, 128 eigenfunctions) of width 128 and
256, all with heat kernel signatures as input. The networks take turns; each ratio is the median over rounds
of the ratio within a round, so that what else the machine does falls on all of them alike. --busy counts
processor time instead of time on the clock. --parts shows where FCNet's step goes, and how many operations
(multiplications and additions, of matrix products and of sums over discs, zeros included) a step of each
network has.

With a class for each of 5,000 template vertices the last layer, which makes 25 million scores, takes most of
a step: the paper gives it 256 inputs, DiffusionNet as many as it is wide. --classes 8 leaves it out.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as the command line does, before torch is loaded

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch.utils.flop_counter import FlopCounterMode

from fieldconv import Surface, keep_freed_memory
from fieldconv.datasets.creatures import make_creature
from fieldconv.networks import network_named
from fieldconv.nn import FieldConv
from fieldconv.tasks.base.label_task import cross_entropy

NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "diffusionnet, width 128": ("diffusionnet", {"width": 128}),
    "diffusionnet, width 256": ("diffusionnet", {"width": 256}),
    "fcnet": ("fcnet", {}),
}
console = Console(width=110)


def prepared(
    mesh: Any, name: str, classes: int, changes: dict[str, Any]
) -> tuple[Any, Callable[[], Surface]]:
    """Return a network for that number of classes, and its preparation of the mesh."""
    torch.manual_seed(0)
    network = network_named(name).for_task(
        "correspondence", classes=classes, preset="reproduce", features="hks", **changes
    )
    settings = network.surface_settings().to_dict()
    return network.train(), lambda: Surface.from_mesh(mesh, **settings)


def step_of(network: Any, surface: Surface) -> Callable[[], None]:
    """Return one step of Adam on a cross entropy, as in training."""
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)
    target = torch.randint(
        network.config.outputs, (surface.num_nodes,), generator=torch.Generator().manual_seed(0)
    )

    def step() -> None:
        cross_entropy(network(surface), target).mean().backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def in_turns(
    jobs: dict[str, Callable[[], Any]], rounds: int, clock: Callable[[], float]
) -> dict[str, np.ndarray]:
    """Return the seconds of each job in each round, after a first round."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name, job in jobs.items():
            began = clock()
            job()
            if number:
                seconds[name].append(clock() - began)
    return {name: np.array(own) for name, own in seconds.items()}


def show(title: str, seconds: dict[str, np.ndarray], base: str) -> None:
    table = Table("network", "ms, median", f"times {base}", title=title, title_justify="left")
    for name, own in seconds.items():
        ratio = np.median(own / seconds[base])
        table.add_row(name, f"{1000 * np.median(own):.0f}", f"{ratio:.2f}")
    console.print(table)


def parts(network: Any, surface: Surface, rounds: int) -> None:
    """Print the time of a step by operation."""
    step, spent = step_of(network, surface), defaultdict(float)
    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _ in range(rounds):
            step()
    for event in profile.key_averages():
        spent[event.key] += event.self_cpu_time_total / 1000 / rounds
    table = Table("operation", "ms a step", title="FCNet's step", title_justify="left")
    for key, milliseconds in sorted(spent.items(), key=lambda item: -item[1])[:25]:
        table.add_row(key, f"{milliseconds:.1f}")
    console.print(table)


def dense(products: int) -> Callable[..., int]:
    """Return the operations of that number of products of x, (n, K), with weights (O, K)."""

    def count(x: torch.Size, keep: torch.Size, weight: torch.Size, *_: Any, **__: Any) -> int:
        return products * 2 * x[0] * weight[0] * weight[1]

    return count


def operations(network: Any, surface: Surface) -> float:
    """Count multiplications and additions of a training step: matrix products, and sums over discs.

    Zeros count, also where they are passed over.
    """
    fieldconv = torch.ops.fieldconv
    passing_over = {fieldconv.relu_linear: dense(1), fieldconv.relu_linear_backward: dense(2)}
    with FlopCounterMode(display=False, custom_mapping=passing_over) as counter:
        step_of(network, surface)()
    total = float(counter.get_total_flops())
    for conv in network.modules():
        if isinstance(conv, FieldConv):  # one operation for torch, so the counter passes it over
            orders = 2 * conv.band_limit + 1
            complex_orders = orders - 0.5 * (conv.band_limit > 0)  # Y_1 is real
            pairs = 4 * conv.in_channels * conv.out_channels * conv.rings
            total += 3 * 2 * len(surface.area) * complex_orders * pairs  # forward, and two products back
            lines = 2 * conv.out_channels * (2 * orders + 1)  # two rings of each order, and the transport
            total += 2 * 2 * surface.edge_index.shape[1] * lines  # forward and back
    return total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--vertices", type=int, default=5000)
    parser.add_argument("--classes", type=int, default=5000)
    parser.add_argument("--busy", action="store_true", help="count processor time")
    parser.add_argument("--parts", action="store_true", help="where FCNet's step goes")
    options = parser.parse_args()
    clock = time.process_time if options.busy else time.perf_counter
    keep_freed_memory()
    mesh = make_creature("quadruped", 0, vertices=options.vertices).mesh
    steps, preparations, counted = {}, {}, {}
    for title, (name, changes) in NETWORKS.items():
        network, prepare = prepared(mesh, name, options.classes, changes)
        surface = prepare()
        steps[title] = step_of(network, surface)
        if "256" not in title:  # prepared as for width 128
            preparations[title] = prepare
        if options.parts:
            counted[title] = operations(network, surface)
            if name == "fcnet":
                parts(network, surface, 3)
    base = next(iter(NETWORKS))
    seconds = in_turns(steps, options.rounds, clock)
    show("Training step", seconds, base)
    for title, count in counted.items():
        rate = count / np.median(seconds[title]) / 1e9
        console.print(
            f"{title}: {count / 1e9:.0f} billion operations, {count / counted[base]:.2f} times "
            f"{base}; {rate:.0f} billion a second"
        )
    show("Preparation, without a cache", in_turns(preparations, min(options.rounds, 5), clock), base)


if __name__ == "__main__":
    main()
