"""A GPT-2: one training step of batch x context tokens, from tokens in host memory to AdamW's update.

python3 apps/gpt.py                           12 layers of 768 without biases
python3 apps/gpt.py --width 1600 --biases 1
"""

from __future__ import annotations

import copy

import torch
from program import DEVICE, Program, gradient_error, main
from torch import nn
from torch.nn import functional as F

SIZES = {"width": 768, "layers": 12, "biases": 0, "batch": 8, "context": 1024, "vocabulary": 50257}
HEAD = 64  # numbers a head; GPT-2 small has 12 heads, 1600 have 25
BATCHES = 32  # of tokens, one after the other


class Block(nn.Module):
    def __init__(self, width: int, biases: bool):
        super().__init__()
        self.heads = width // HEAD
        self.norm_1 = nn.LayerNorm(width, bias=biases)
        self.qkv = nn.Linear(width, 3 * width, bias=biases)
        self.out = nn.Linear(width, width, bias=biases)
        self.norm_2 = nn.LayerNorm(width, bias=biases)
        self.up = nn.Linear(width, 4 * width, bias=biases)
        self.down = nn.Linear(4 * width, width, bias=biases)

    def forward(self, x):
        batch, context, width = x.shape
        qkv = self.qkv(self.norm_1(x)).view(batch, context, 3, self.heads, HEAD).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(*qkv.unbind(0), is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, context, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, width: int, layers: int, biases: bool, context: int, vocabulary: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, biases) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=biases)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
                if getattr(module, "bias", None) is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)  # the head shares the embedding's weights
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make(options) -> Program:
    with torch.device(DEVICE):
        model = Gpt(options.width, options.layers, bool(options.biases), options.context, options.vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    data = torch.randint(options.vocabulary, (BATCHES, options.batch, options.context + 1)).pin_memory()
    done = 0

    def step():
        nonlocal done
        batch = data[done % BATCHES].to(DEVICE, non_blocking=True)
        done += 1
        optimizer.zero_grad(set_to_none=True)
        loss = model(batch[:, :-1], batch[:, 1:])
        loss.backward()
        optimizer.step()
        return loss

    def error():
        """Of the gradients, at the first parameters, for one sequence."""
        exact = copy.deepcopy(model).double()
        one = data[0, :1].to(DEVICE)
        loss, exact_loss = (each(one[:, :-1], one[:, 1:]) for each in (model, exact))
        loss.backward()
        exact_loss.backward()
        found = gradient_error(model, exact)
        optimizer.zero_grad(set_to_none=True)
        return {"relative": found, "loss": abs(float(loss.detach()) / float(exact_loss.detach()) - 1)}

    return Program(step, error, steps=10)


if __name__ == "__main__":
    main("gpt", __doc__.splitlines()[0], make, **SIZES)
