"""The paper's generic network."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from fieldconv.models.config import FCNetConfig, Preset, Task
from fieldconv.models.heads import ClassificationHead, DescriptorHead, LabelHead
from fieldconv.models.pooling import mean_per_shape, shape_of_samples
from fieldconv.nn import FCResNetBlock, LearnedGradient, LinearLift, TangentLinear

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fieldconv.geometry.mesh import Mesh
    from fieldconv.surface import Surface


class FCNet(nn.Module):
    """FCResNet blocks between a lift of scalar inputs to vectors and a head that returns to scalars.

    From three blocks on, the input of every two blocks is added to their output once more. The sum is
    halved: field convolution is homogeneous, so this is a choice of units that keeps vectors from doubling.

    Parameters
    ----------
    config : FCNetConfig
        What the network is made of.

    Shapes
    ------
    - input: a surface with n samples and features x of (n, in_channels), or a batch of surfaces
    - output: (n, outputs) for the heads "labels" and "descriptors", (shapes, outputs) for "classification"

    Examples
    --------
    >>> net = FCNet.for_task("segmentation", classes=8, preset="tiny")
    >>> net.num_parameters < FCNet.for_task("segmentation", classes=8).num_parameters
    True
    """

    def __init__(self, config: FCNetConfig) -> None:
        super().__init__()
        self.config = config
        lift = LearnedGradient if config.lift == "gradient" else LinearLift
        self.lift = lift(
            config.num_features,
            config.lift_channels,
            rings=config.rings,
            spacing=config.spacing,
            input_length=1.0,  # see `features`
        )
        widths = [config.lift_channels] + [config.width] * config.blocks
        self.blocks = nn.ModuleList(
            FCResNetBlock(
                before,
                after,
                rings=config.rings,
                band_limit=config.band_limit,
                filter=config.filter,
                spacing=config.spacing,
            )
            for before, after in pairwise(widths)
        )
        pairs = config.blocks // 2 if config.blocks >= 3 else 0
        self.carries = nn.ModuleList(
            nn.Identity() if widths[2 * i] == config.width else TangentLinear(widths[2 * i], config.width)
            for i in range(pairs)
        )
        # What it is trained for; set by training, kept in checkpoints.
        self.task: Task | None = None
        self.class_names: tuple[str, ...] = ()
        self.template: Mesh | None = None
        heads = {"labels": LabelHead, "descriptors": DescriptorHead, "classification": ClassificationHead}
        self.head = heads[config.head](config)

    @classmethod
    def for_task(
        cls, task: Task, *, classes: int | None = None, preset: Preset = "default", **changes: Any
    ) -> FCNet:
        """The network of one of the paper's four experiments, see `FCNetConfig.for_task`."""
        return cls(FCNetConfig.for_task(task, classes=classes, preset=preset, **changes))

    @classmethod
    def from_pretrained(cls, source: str | Path) -> FCNet:
        """Read a network from a checkpoint or run folder, or by its name on the Hugging Face hub."""
        from fieldconv.training.checkpoint import load_pretrained

        return load_pretrained(source)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``model.safetensors``, ``config.json`` and a model card to a folder."""
        from fieldconv.training.checkpoint import save_pretrained

        save_pretrained(self, folder)

    def push_to_hub(self, name: str, **options: Any) -> str:
        """Upload the network to the Hugging Face hub as ``user/name``; gives its address."""
        from fieldconv.training.checkpoint import push_to_hub

        return push_to_hub(self, name, **options)

    def predict(self, shapes: Mesh | str | Path | Iterable[Mesh | str | Path]) -> Any:
        """Labels of a mesh or mesh file, prepared as this network needs it; a list of them for several.

        A class index for classification, (V,) labels or template vertices, or (V, d) descriptors for a
        network that has no labels. `fieldconv.training.predict` also gives probabilities.
        """
        from fieldconv.training.prediction import predict_labels

        return predict_labels(self, shapes)

    def forward(self, surface: Surface) -> Tensor:
        """Scores or descriptors of ``surface``."""
        return self.head(self.features(surface), surface)  # type: ignore[no-any-return]

    def features(self, surface: Surface) -> Tensor:
        """(n, width) complex: the vector field that the head receives.

        The input features of each shape are scaled to a mean square length of one. At unit area, positions
        are larger the thinner a shape is, and vectors grow with their square.
        """
        scalars = surface.x
        if scalars is None or scalars.shape[-1] != self.config.num_features:
            found = "none" if scalars is None else str(scalars.shape[-1])
            raise ValueError(
                f"the network takes {self.config.num_features} input features ({self.config.features}), the "
                f"surface has {found}; build it with Surface.from_mesh(…, features={self.config.features!r})"
            )
        x = self.lift(_scaled(scalars, surface), surface)
        before = x
        for i, block in enumerate(self.blocks):
            x = block(x, surface)
            pair, odd = divmod(i, 2)
            if odd and pair < len(self.carries):
                x = before = 0.5 * (x + self.carries[pair](before))
        return x  # type: ignore[no-any-return]

    def echo_descriptors(self, surface: Surface) -> Tensor:
        """(n, D, H): the ECHO descriptors on which labels are decided; head "labels" only."""
        return self._label_head("ECHO descriptors").block.describe(self.features(surface), surface)

    def bottleneck(self, surface: Surface) -> Tensor:
        """(n, bottleneck): the narrow features before the two dense layers; head "labels" only."""
        head = self._label_head("a bottleneck")
        if self.config.bottleneck is None:
            raise ValueError("this network has no bottleneck; build it with bottleneck=32, say")
        return head.block(self.features(surface), surface)  # type: ignore[no-any-return]

    def _label_head(self, what: str) -> LabelHead:
        if not isinstance(self.head, LabelHead):
            raise ValueError(f"a network with head {self.config.head!r} has no {what}; use head='labels'")
        return self.head

    @property
    def num_parameters(self) -> int:
        """Number of learnt real numbers."""
        return sum(parameter.numel() for parameter in self.parameters() if parameter.requires_grad)

    def summary(self) -> str:
        """What the network is made of, one line for each part, with its number of parameters."""
        config = self.config
        rows: list[tuple[str, str, nn.Module]] = [
            ("lift", f"{config.num_features} scalars → {config.lift_channels} vectors", self.lift)
        ]
        for i, block in enumerate(self.blocks):
            rows.append((f"block {i + 1}", f"{block.in_channels} → {block.out_channels} vectors", block))
            if i % 2 and i // 2 < len(self.carries):
                rows.append(("residual", f"over blocks {i} and {i + 1}", self.carries[i // 2]))
        if isinstance(self.head, LabelHead):
            echo = self.head.block
            tail = f" → {config.bottleneck} → {config.dense}" if config.bottleneck else ""
            what = f"ECHO {config.echo_channels} × {echo.echo.size} → {config.hidden[0]} → {config.hidden[1]}"
            rows.append(("head", f"{what}{tail} → {config.outputs} scores per sample", self.head))
        elif config.head == "descriptors":
            rows.append(("head", f"{config.outputs} magnitudes per sample", self.head))
        else:
            rows.append(("head", f"{config.outputs} pooled magnitudes per shape", self.head))
        lines = [
            f"FCNet: ε = {config.radius}, N = {config.rings}, B = {config.band_limit}, "
            f"{config.filter} filters, {config.spacing} radii"
        ]
        for name, what, module in rows:
            lines.append(f"  {name:<10}{what:<60}{sum(p.numel() for p in module.parameters()):>12,}")
        lines.append(f"  {'total':<70}{self.num_parameters:>12,}")
        return "\n".join(lines)


def _scaled(scalars: Tensor, surface: Surface) -> Tensor:
    """The features of each shape, divided by their root mean square length over its area."""
    mean = mean_per_shape(scalars.square().sum(1), surface.area, surface)
    return scalars * torch.where(mean > 0, mean, 1.0).rsqrt()[shape_of_samples(surface)[0], None]
