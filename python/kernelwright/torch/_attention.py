"""Attention of float32 as products: what scaled_dot_product_attention computes, block of rows by block.

    S = scale · q kᵀ        P = softmax(S)        out = P v        L = log Σ exp S of each row
    dv = Pᵀ dout        dS = P (dout vᵀ − Σ dout out)        dq = scale · dS k        dk = scale · dSᵀ q

A block has its rows of S alone, in at most `block_bytes` of memory; with `causal`, where a row sees the columns up to its
own, what lies right of a block is left out. Of the backward pass P is computed again, from L.
"""

import torch

from .. import _core

_BLOCK_BYTES = 512 << 20
_ROUNDED = 32  # PyTorch's kernels keep L in rows of a multiple of this


def _blocks(query, key, causal, block_bytes):
    """Pairs of the rows of a block and the columns that they see."""
    rows, columns = query.shape[2], key.shape[2]
    height = max(1, block_bytes // max(1, 4 * query.shape[0] * query.shape[1] * columns))
    if causal:
        height = min(height, max(256, rows // 8))
    for begin in range(0, rows, height):
        end = min(rows, begin + height)
        yield begin, end, min(columns, end) if causal else columns


def _product(a, b, math, out=None, alpha=1.0, beta=0.0):
    return _core.gemm(alpha, a, b, beta, out, None, None, False, None, math, None, True)


def _hide(scores, begin, columns):
    """Of rows from `begin` on what lies right of the diagonal."""
    if columns > begin:
        part = scores[..., begin:columns]
        hidden = torch.ones(part.shape[-2:], dtype=torch.bool, device=part.device).triu_(1)
        part.masked_fill_(hidden, float("-inf"))
    return scores


def forward(query, key, value, causal, scale, keeps_sums, math, block_bytes=_BLOCK_BYTES):
    """The result, laid out as PyTorch's kernel leaves it, and L, empty unless `keeps_sums`."""
    batch, heads, rows, width = query.shape
    out = query.new_empty((batch, rows, heads, value.shape[3])).transpose(1, 2)
    length = -(-rows // _ROUNDED) * _ROUNDED if keeps_sums else 0
    sums = query.new_empty((batch, heads, length))
    for begin, end, columns in _blocks(query, key, causal, block_bytes):
        scores = _product(query[:, :, begin:end], key[:, :, :columns].mT, math, alpha=scale)
        if causal:
            _hide(scores, begin, columns)
        if keeps_sums:
            largest, place = scores.max(-1, keepdim=True)
            torch.softmax(scores, -1, out=scores)
            # The largest element's share of its row: exp(largest - L).
            sums[:, :, begin:end] = (largest - scores.gather(-1, place).log_()).squeeze(-1)
        else:
            torch.softmax(scores, -1, out=scores)
        _product(scores, value[:, :, :columns], math, out=out[:, :, begin:end])
    return out, sums


def backward(gradient, query, key, value, out, sums, causal, scale, math, block_bytes=_BLOCK_BYTES):
    """The gradients of query, key and value, laid out as PyTorch's kernel leaves them."""

    def like(tensor):
        batch, heads, rows, width = tensor.shape
        return tensor.new_zeros((batch, rows, heads, width)).transpose(1, 2)

    of_query, of_key, of_value = like(query), like(key), like(value)
    lost = (gradient * out).sum(-1, keepdim=True)
    for begin, end, columns in _blocks(query, key, causal, block_bytes):
        q, k, v = query[:, :, begin:end], key[:, :, :columns], value[:, :, :columns]
        of_rows = gradient[:, :, begin:end]
        weights = _product(q, k.mT, math, alpha=scale)
        if causal:
            _hide(weights, begin, columns)
        weights.sub_(sums[:, :, begin:end].unsqueeze(-1)).exp_()
        _product(weights.mT, of_rows, math, out=of_value[:, :, :columns], beta=1.0)
        slopes = _product(of_rows, v.mT, math)
        slopes.sub_(lost[:, :, begin:end]).mul_(weights)
        _product(slopes, k, math, out=of_query[:, :, begin:end], alpha=scale)
        _product(slopes.mT, q, math, out=of_key[:, :, :columns], alpha=scale, beta=1.0)
    return of_query, of_key, of_value


def is_served(query, key, value, bias, dropout):
    """Whether the functions above compute a call: without a mask of the caller's and without dropout."""
    tensors = (query, key, value)
    return (
        bias is None and dropout == 0 and all(t.dim() == 4 and t.dtype == torch.float32 and t.numel() for t in tensors)
        and query.device == key.device == value.device
        and query.shape[:2] == key.shape[:2] == value.shape[:2]
        and query.shape[3] == key.shape[3] and key.shape[2] == value.shape[2]
    )  # fmt: skip
