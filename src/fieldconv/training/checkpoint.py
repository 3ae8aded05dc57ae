"""Networks and training states on disk: safetensors and JSON, each file whole or not there. No pickle."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from fieldconv import __version__
from fieldconv._checked import Plain
from fieldconv._io import atomic_path, read_text, write_json, write_text
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.models import CARD, CONFIG, MODELS, TEMPLATE, WEIGHTS
from fieldconv.networks import network_named
from fieldconv.networks.protocol import Network
from fieldconv.tasks import task_named, task_names

STATE = "state.safetensors"
FORMAT = 1
MAX_DENSITY = 10**9  # samples; a file with more is damaged
_CONFIG_TYPES: dict[str, type | UnionType] = {
    "format": int,
    "network": dict,
    "network_name": str,
    "task": str | None,
    "class_names": list,
    "source": dict,
}
_STATE_TENSORS = ("weights", "optimiser", "rng", "average")
_STATE_TYPES = {"epoch": int, "step": int, "history": list, "best": dict, "config": dict}


class CheckpointError(ValueError):
    """A checkpoint that is not there, not whole, or of another kind."""


def save_pretrained(model: Network, folder: str | Path, *, about: Plain | None = None) -> Path:
    """Write the network to a folder; ``about`` (results, training settings) goes into config and card."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "library": "fieldconv",
        "format": FORMAT,
        "version": __version__,
        "task": model.task,
        "class_names": list(model.class_names),
        "density": model.density,
        "any_density": model.any_density,
        "temperature": model.temperature,
        "network_name": model.name,
        "network": model.config.to_dict(),
        **(about or {}),
    }
    if model.template is not None:
        model.template.save(folder / TEMPLATE)
    else:
        (folder / TEMPLATE).unlink(missing_ok=True)  # of an earlier network
    _save(folder / WEIGHTS, _plain(model.state_dict()), {"format": "pt"})
    write_json(folder / CONFIG, config)
    write_text(folder / CARD, _card(model, config))
    return folder


def _save(path: Path, tensors: dict[str, Tensor], texts: dict[str, str]) -> None:
    """Write safetensors, whole or not at all; raise OSError if there is no room for them."""
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, texts)
        except SafetensorError as error:
            disk_full = "os error 28" in str(error) or "No space" in str(error)
            code = errno.ENOSPC if disk_full else errno.EIO
            raise OSError(code, os.strerror(code), str(path)) from None


def load(source: str | Path) -> Network:
    """Return the network in a run or checkpoint folder, or of that name in the package or on the hub.

    It is in evaluation mode, and knows its task, classes and how meshes are prepared for it. The package has
    "bodies" and "body-points" (`fieldconv.models`); other names are looked for on the Hugging Face hub.

    Examples
    --------
    >>> load("bodies").class_names[:3]
    ('head', 'hand', 'lower arm')
    """
    folder = Path(source)
    try:
        here = (folder / CONFIG).is_file()
    except OSError as error:  # such as a name that is too long
        reason = error.strerror or "cannot be read"
        raise CheckpointError(f"{str(source)[:60]}: no such folder ({reason})") from None
    own = None if here else MODELS.get(str(source))
    if own is not None:
        folder = own.folder
    elif not folder.is_dir():
        folder = _download(str(source))
    config = read_config(folder)
    _check_file(folder / WEIGHTS)
    try:
        weights = load_file(folder / WEIGHTS)
    except FileNotFoundError:
        raise CheckpointError(f"{folder} has no {WEIGHTS}; has its training written a first epoch?") from None
    except (SafetensorError, OSError) as error:
        raise _unreadable(folder / WEIGHTS, error, "write it again") from None
    model = _built(folder, config, weights)
    _check_finite(folder / WEIGHTS, weights, "write it again")
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        first = str(error).splitlines()[1].strip() if "\n" in str(error) else str(error)
        raise CheckpointError(f"{folder / WEIGHTS} does not fit {CONFIG}: {first[:300]}") from None
    model.task = config["task"] if own is None else own.task
    model.class_names = tuple(config["class_names"])
    model.source = folder.resolve().name if own is None else str(source)
    density, temperature = config.get("density"), config.get("temperature", 1.0)
    model.density = density if isinstance(density, int) and 0 < density <= MAX_DENSITY else None
    model.any_density = config.get("any_density") is True
    sound = isinstance(temperature, int | float) and temperature > 0
    model.temperature = float(temperature) if sound else 1.0
    if (folder / TEMPLATE).is_file():
        model.template = Mesh.load(folder / TEMPLATE)
    _check_names(model, folder)
    return model.eval()


def _built(folder: Path, config: Plain, weights: Mapping[str, Tensor]) -> Network:
    """Return the network that a checkpoint describes, with weights of its own.

    A damaged size must not ask for more memory than there is. So before the network is built, the shapes of
    its weights are made on the device "meta", which takes no memory, and compared with those of the file.
    """
    there = {name: list(value.shape) for name, value in weights.items()}
    try:
        kind = network_named(config["network_name"])
        settings = kind.Config.from_dict(config["network"])
    except ValueError as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from None
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            expected = {name: list(value.shape) for name, value in kind(settings).state_dict().items()}
    except Exception:  # a network of another package may not support "meta"
        expected = there
    differing = sorted(name for name in {*expected, *there} if expected.get(name) != there.get(name))
    if differing:
        name = differing[0]
        raise CheckpointError(
            f"{folder / WEIGHTS} does not fit {CONFIG}: {name[:80]} has shape {there.get(name)} where "
            f"{expected.get(name)} is expected"
        )
    try:
        with torch.random.fork_rng(devices=[]):  # its weights are replaced at once
            return kind(settings)
    except (ValueError, RuntimeError, MemoryError, OverflowError) as error:
        raise CheckpointError(f"{folder / CONFIG}: {' '.join(str(error).split())[:300]}") from None


def _check_names(model: Network, folder: Path) -> None:
    """Raise CheckpointError if class names or template do not fit the number of the network's outputs."""
    if model.task not in task_names():
        return
    named = task_named(model.task).named_outputs(model.class_names, model.template)
    outputs = model.config.outputs
    if named is None or named == outputs:
        return
    if model.template is None:
        raise CheckpointError(
            f"{folder / CONFIG} has {named} class names for {outputs} outputs; copy it again"
        )
    count = len(model.template.vertices)
    raise CheckpointError(f"{folder / TEMPLATE} has {count} vertices for {outputs} outputs; copy it again")


def _check_file(path: Path) -> None:
    """Raise CheckpointError if something else is in place of a file: opening a FIFO would block."""
    if path.exists() and not path.is_file():
        raise CheckpointError(f"{path} is not a file; copy it again")


def _check_finite(path: Path, weights: Mapping[str, Tensor], advice: str) -> None:
    for name, values in weights.items():
        if values.is_floating_point() and not bool(values.isfinite().all()):
            raise CheckpointError(f"{path} is damaged: {name!r} holds NaN or infinity; {advice}")


def _unreadable(path: Path, error: Exception, advice: str) -> CheckpointError:
    deep = isinstance(error, RecursionError)
    reason = "it is nested too deeply" if deep else " ".join(str(error).split())[:300]
    return CheckpointError(f"{path} cannot be read ({reason}); {advice}")


def read_config(folder: str | Path) -> Plain:
    """Return the content of a checkpoint's ``config.json``."""
    path = Path(folder) / CONFIG
    _check_file(path)
    try:
        config = json.loads(read_text(path))
    except FileNotFoundError:
        raise CheckpointError(f"{folder} is not a run or checkpoint: it has no {CONFIG}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, error, "copy it again") from None
    if not isinstance(config, dict) or config.get("library") != "fieldconv":
        raise CheckpointError(f"{path} does not describe a fieldconv network")
    if isinstance(config.get("format"), int) and config["format"] > FORMAT:
        version = str(config.get("version"))[:40]
        raise CheckpointError(f"{path} is of a newer fieldconv ({version}); update fieldconv")
    complete = {"format": 0, "source": {}, **config}
    for key, kind in _CONFIG_TYPES.items():
        if key not in complete or not isinstance(complete[key], kind):
            raise CheckpointError(f"{path} is damaged: its {key!r} is missing or wrong; copy it again")
    if not all(isinstance(name, str) for name in config["class_names"]):
        raise CheckpointError(f"{path} is damaged: its 'class_names' are not texts; copy it again")
    return config


def push_to_hub(model: Network, name: str, **options: Any) -> str:
    """Upload the network to the Hugging Face hub, as ``user/name``; return its address."""
    api = _hub().HfApi(token=options.pop("token", None))
    api.create_repo(name, exist_ok=True, private=options.pop("private", None))
    with tempfile.TemporaryDirectory() as folder:
        save_pretrained(model, folder)
        return str(api.upload_folder(repo_id=name, folder_path=folder, **options))


def _download(name: str) -> Path:
    if name.count("/") != 1 or name.startswith((".", "/")):
        raise CheckpointError(f"{name}: no such folder")
    hub = _hub()
    try:
        return Path(hub.snapshot_download(name, allow_patterns=[WEIGHTS, CONFIG, CARD, TEMPLATE]))
    except Exception as error:  # the hub has many errors of its own, which mean the same here
        raise CheckpointError(
            f"{name}: no such folder, and no network of that name on the Hugging Face hub"
        ) from error


def _hub() -> ModuleType:
    try:
        import huggingface_hub
    except ImportError:
        raise CheckpointError("the Hugging Face hub needs `pip install fieldconv[hub]`") from None
    return huggingface_hub


def _plain(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}


def _card(model: Network, config: Plain) -> str:
    """The model card, with the header that the Hugging Face hub reads."""
    settings, surface = model.config, model.config.surface_settings
    sampled = f"{settings.samples} samples" if settings.samples else "all vertices"
    radius = f", geodesic radius {surface.radius}" if "discs" in surface.operators else ""
    text = f"""---
library_name: fieldconv
tags: [geometric-deep-learning, mesh, field-convolutions]
---
# {type(model).__name__} for {model.task or "surfaces"}

A network ({model.name}) of {model.num_parameters:,} parameters (fieldconv {__version__}).

```python
import fieldconv as fc

model = fc.load("this folder")
result = model.predict("shape.obj")
```

## Input

Triangle meshes at any resolution, scaled to unit area; {sampled}, features {settings.features}{radius}.
"""
    if model.class_names:
        text += f"\n## Classes\n\n{', '.join(model.class_names)}\n"
    if config.get("metrics"):
        known = {key: value for key, value in config["metrics"].items() if value is not None}
        rows = (f"| {key.replace('_', ' ')} | {value:.4g} |\n" for key, value in known.items())
        text += "\n## Results\n\n| metric | value |\n|---|---|\n" + "".join(rows)
    return f"{text}\n## Network\n\n```\n{model.summary()}\n```\n"


@dataclass
class State:
    """What a run needs to go on as if it had not stopped."""

    epoch: int  # the last finished one, as step
    step: int
    weights: dict[str, Tensor]
    optimiser: dict[str, Tensor]  # by parameter and name, such as lift.offset/exp_avg
    rng: dict[str, Tensor]  # random states of each process: RANK/cpu, RANK/cuda
    average: dict[str, Tensor] = field(default_factory=dict)  # of the weights; empty if there is none
    history: list[Plain] = field(default_factory=list)  # one row per epoch
    best: Plain = field(default_factory=dict)  # epoch and value of the best validation
    config: Plain = field(default_factory=dict)  # settings of the run, to notice if they have changed

    def save(self, folder: str | Path) -> None:
        """Write one file, so that tensors and numbers belong to the same step."""
        tensors = {
            f"{group}/{name}": value
            for group in _STATE_TENSORS
            for name, value in getattr(self, group).items()
        }
        numbers = {key: getattr(self, key) for key in _STATE_TYPES}
        text = json.dumps({**numbers, "version": __version__})
        _save(Path(folder) / STATE, _plain(tensors), {"state": text})

    @classmethod
    def load(cls, folder: str | Path) -> State:
        path = Path(folder) / STATE
        _check_file(path)
        groups: Plain = {group: {} for group in _STATE_TENSORS}
        try:
            with safe_open(path, framework="pt") as file:
                numbers = json.loads((file.metadata() or {})["state"])
                for key in file.keys():  # noqa: SIM118  # not a dictionary
                    group, name = key.split("/", 1)
                    # A copy: Windows replaces no file that is mapped into memory.
                    groups[group][name] = file.get_tensor(key).clone()
        except (SafetensorError, OSError, KeyError, ValueError, RecursionError) as error:
            raise _unreadable(path, error, "start a new run") from None
        if not isinstance(numbers, dict) or not _sound(numbers):
            raise CheckpointError(f"{path} is damaged; start a new run")
        for group in ("weights", "average"):
            _check_finite(path, groups[group], "start a new run")
        return cls(**groups, **{key: numbers[key] for key in _STATE_TYPES})


def _sound(numbers: Plain) -> bool:
    """Return whether what a state holds besides tensors has the right types."""
    if any(not isinstance(numbers.get(key), kind) for key, kind in _STATE_TYPES.items()):
        return False
    best, config = numbers["best"], numbers["config"]
    return (
        0 <= numbers["epoch"] <= numbers["step"]
        and len(numbers["history"]) == numbers["epoch"]
        and all(isinstance(row, dict) for row in numbers["history"])
        and (not best or (isinstance(best.get("epoch"), int) and isinstance(best.get("value"), int | float)))
        and all(isinstance(config.get(part, {}), dict) for part in ("network", "training"))
    )


def optimiser_tensors(optimiser: torch.optim.Optimizer, names: list[str]) -> dict[str, Tensor]:
    """Return the state of the optimiser, by names of the parameters."""
    state = optimiser.state_dict()["state"]
    return {
        f"{names[index]}/{key}": torch.as_tensor(value)
        for index, entries in state.items()
        for key, value in entries.items()
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, names: list[str], tensors: dict[str, Tensor]) -> None:
    """Set the state of the optimiser to what `optimiser_tensors` returned."""
    state: dict[int, dict[str, Tensor]] = {}
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    for name, value in tensors.items():
        parameter, key = name.rsplit("/", 1)
        number = names.index(parameter)
        if value.ndim and value.shape != parameters[number].shape:
            raise ValueError(f"{name} has shape {list(value.shape)}, not {list(parameters[number].shape)}")
        state.setdefault(number, {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
