"""Names for the types of NumPy arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # of any type of numbers
Floats = NDArray[np.floating[Any]]  # double precision; in kernels of layers, that of their features
Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
