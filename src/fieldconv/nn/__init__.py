"""Layers on tangent vector features: complex tensors (n, channels), one row for each sample of a surface."""

from fieldconv.nn.echo import ECHO
from fieldconv.nn.echo_block import ECHOBlock
from fieldconv.nn.fc_resnet_block import FCResNetBlock
from fieldconv.nn.field_conv import FieldConv
from fieldconv.nn.learned_gradient import LearnedGradient
from fieldconv.nn.linear_lift import LinearLift
from fieldconv.nn.perceptron import Perceptron
from fieldconv.nn.scalar_head import ScalarHead
from fieldconv.nn.tangent_linear import TangentLinear
from fieldconv.nn.tangent_relu import TangentReLU

__all__ = [
    "ECHO",
    "ECHOBlock",
    "FCResNetBlock",
    "FieldConv",
    "LearnedGradient",
    "LinearLift",
    "Perceptron",
    "ScalarHead",
    "TangentLinear",
    "TangentReLU",
]
