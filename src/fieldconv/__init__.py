"""Deep learning on curved surfaces with field convolutions."""

from fieldconv._lazy import lazy

__version__ = "0.2.0"

# The public names and modules are listed in __init__.pyi and loaded on first use: `import fieldconv` must not
# wait for torch.
__getattr__, _names = lazy(__name__, __file__)


def __dir__() -> list[str]:
    return ["__version__", *_names()]
