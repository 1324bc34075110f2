"""What PyTorch's compiler Inductor is told while `enable` is on: a product to choose where it tunes products, and products
whose activation is computed with them.
"""

import sys
from typing import Any, Callable, Optional

import torch

F = torch.nn.functional
_GELU = {"none": 3, "tanh": 2}


def is_loaded() -> bool:
    return "torch._inductor.config" in sys.modules


class Hook:
    """Inductor's settings, as they were once it is removed."""

    def __init__(self, multiply: Callable, math_now: Callable[[], Optional[int]]):
        import torch._inductor.config as config

        self.config: Any = config
        self.multiply = multiply
        self.before = config.pre_grad_custom_pass
        config.external_matmul = [*config.external_matmul, multiply]

        def replaced(graph):
            if self.before is not None:
                self.before(graph)
            math = math_now()
            if math is not None:
                fuse_activations(graph, math)

        self.replaced = replaced
        config.pre_grad_custom_pass = replaced

    def remove(self) -> None:
        self.config.external_matmul = [one for one in self.config.external_matmul if one is not self.multiply]
        if self.config.pre_grad_custom_pass is self.replaced:
            self.config.pre_grad_custom_pass = self.before


def _activation(node) -> Optional[int]:
    """The number of a node's activation, None where it has none."""
    if node.op == "call_function" and node.target is F.gelu:
        return _GELU.get(node.kwargs.get("approximate", "none"))
    is_relu = node.op == "call_function" and node.target in (F.relu, torch.relu)
    return 1 if is_relu or (node.op == "call_method" and node.target == "relu") else None


def fuse_activations(graph, math: int, devices=("cuda",)) -> int:
    """Makes linear with relu or gelu after it one product, and returns how many; of a graph that records no gradient.

    A gradient takes what the activation was applied to, which a fused product does not keep.
    """
    if torch.is_grad_enabled() or any(node.target is torch._C._set_grad_enabled for node in graph.nodes):
        return 0
    fused = 0
    for node in list(graph.nodes):
        activation = _activation(node)
        linear = node.args[0] if activation is not None and node.args else None
        if not isinstance(linear, torch.fx.Node) or linear.target is not F.linear or len(linear.users) != 1:
            continue
        if len(linear.args) < 2 or linear.kwargs.keys() - {"bias"}:
            continue
        x, weight = linear.args[:2]
        bias = linear.args[2] if len(linear.args) > 2 else linear.kwargs.get("bias")
        values = [one.meta.get("example_value") for one in (x, weight, linear)]
        if any(value is None or value.dtype != torch.float32 or value.device.type not in devices for value in values):
            continue
        if values[0].dim() < 2 or values[1].dim() != 2:
            continue
        with graph.inserting_before(node):
            turned = graph.call_method("t", (weight,))
            product = graph.call_function(torch.ops.kernelwright.matmul.default, (x, turned, bias, activation, math))
        turned.meta["example_value"] = values[1].t()
        product.meta.update(node.meta)
        node.replace_all_uses_with(product)
        graph.erase_node(node)
        graph.erase_node(linear)
        fused += 1
    return fused
