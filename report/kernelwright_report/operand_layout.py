"""Where wgmma finds its operands: the core matrices of a stage in shared memory, from the descriptors of traced products."""

from __future__ import annotations

from .scene import Scene

CORE, ROWS, WORD, BANKS = 128, 8, 4, 32  # bytes and rows of a core matrix
STEP_K, STAGE_K = 16, 32  # of an instruction, of a stage
PIECE_COLOURS = ("peer", "peer-3", "production-2")


def _first_stage(products: list[dict]) -> list[dict]:
    """The products of one stage: until A's first place comes again, or a place beyond it."""
    found: list[dict] = []
    seen = set()
    size = products[0]["a"][2] * ROWS  # of A's block of 64 rows: 8 groups
    low = min(p["a"][0] for p in products)
    for product in products:
        key = (product["a"][0], product["b"][0])
        if product["a"][0] - low >= size or key in seen:
            break
        seen.add(key)
        found.append(product)
    return found


def draw(scene: Scene, products: list[dict], top: float) -> float:
    stage = _first_stage(products)
    starts = sorted({p["a"][0] for p in stage})
    b_starts = sorted({p["b"][0] for p in stage})
    pieces = len(starts) * STEP_K // STAGE_K
    k_stride, row_stride = stage[0]["a"][1:]
    scene.heading(top, "wgmma's operand in shared memory: core matrices of 8 rows × 16 bytes, each 128 bytes in a row")
    scene.text(24, top + 32, "64 rows of A, 32 along k: the number is the core matrix's place in the stage", muted=True, size=11)
    y, width, height = top + 58, 30, 17
    gap = 8
    left = 92
    for group in range(64 // ROWS):
        scene.text(24, y + group * height + 12, f"rows {group * ROWS}–{group * ROWS + 7}", muted=True, size=10)
    x = float(left)
    for index, start in enumerate(starts):
        piece, step = index % pieces, index // pieces
        if piece == 0:
            scene.text(x, y - 6, f"k {step * STEP_K}–{step * STEP_K + STEP_K - 1}", muted=True, size=10)
        for group in range(64 // ROWS):
            for k in range(2):
                place = (start + k * k_stride + group * row_stride - starts[0]) // CORE
                scene.box(x + k * width, y + group * height, width - 1, height - 1, fill=PIECE_COLOURS[piece])
                scene.text(x + k * width + width / 2, y + group * height + 12, str(place), middle=True, size=9, paper=True)
        x += 2 * width + (gap if piece + 1 == pieces else 2)
    # A core matrix and its banks.
    x = max(x + 30, 520)
    scene.text(x, y - 6, "one core matrix: its rows in the 32 banks", muted=True, size=10)
    for row in range(ROWS):
        for bank in range(4):
            scene.box(x + (row * 4 + bank) * 9, y, 8, 15, colour=scene.ramp(row * 4, BANKS))
        scene.text(x + row * 36 + 17, y + 11, str(row), middle=True, size=9, on=row * 4)
    y_text = y + 36
    lines = [f"descriptor: {k_stride} bytes along k, {row_stride} along the rows", f"a product: 64 × {stage[0]['n']} × 16"]
    if pieces > 1:
        order = [f"{starts.index(p['a'][0]) % pieces}·{b_starts.index(p['b'][0]) % pieces}" for p in stage]
        half = len(order) // 2
        lines.append(f"{len(order)} products a stage, piece of A · piece of B:")
        lines += [" ".join(order[:half]), " ".join(order[half:])] if len(order) > 6 else [" ".join(order)]
        lines.append("piece 0 is the high one")
    else:
        lines.append(f"{len(stage)} products a stage")
    for i, line in enumerate(lines):
        scene.text(x, y_text + 17 * i, line, size=11)
    y = max(y + 64 // ROWS * height, y_text + 17 * (len(lines) - 1)) + 8
    if pieces > 1:
        x = float(left)
        for piece in range(pieces):
            scene.box(x, y + 2, 10, 10, fill=PIECE_COLOURS[piece])
            scene.text(x + 15, y + 11, f"piece {piece}", muted=True, size=11)
            x += 80
        y += 16
    return y + 14
