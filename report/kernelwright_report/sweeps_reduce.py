"""Sweeps of reductions at random: what they come to, a line a third, a shape and one for all.
tools/kernelwright/bench/reduction_summary.cpp prints the same of the program's own run; a file that tools/pytorch_peer.py
has added to compares with the faster of both peers."""

from __future__ import annotations

from dataclasses import dataclass

from . import text
from .results import ResultError, ResultFile
from .rows import Row
from .sweeps import LOSING_RATIO, geometric_mean, quantile, ratio_with_slack
from .tables import Cell, Table

GROUPS = {
    "short": "under 4 µs", "middle": "4 to 50 µs", "long": "over 50 µs", "whole": "arrays", "rows": "rows",
    "columns": "columns", "segments": "segments", "all": "all",
}  # fmt: skip
FAR_LOSING_RATIO = 0.90
BARS = ((64 << 20, 0.75), (128 << 20, 0.85), (512 << 20, 0.90))  # bytes, share of the read bandwidth
NARROW = ("float16", "bfloat16", "int8")
COUNTS = ("reductions", "with_peer", "below", "far_below", "large", "below_bar")


@dataclass(frozen=True)
class Drawn:
    """One reduction of the sweep."""

    own: Row
    peers: list[Row]

    def peer_us(self, peer: Row) -> float:
        """A peer of another process was timed beside the library there; the ratio is what counts."""
        return peer.median_us * self.own.median_us / peer.beside_us if peer.beside_us else peer.median_us

    @property
    def fastest_us(self) -> float | None:
        return min((self.peer_us(peer) for peer in self.peers), default=None)

    @property
    def ratio(self) -> float | None:
        return ratio_with_slack(self.own.median_us, self.fastest_us) if self.peers else None

    @property
    def bytes(self) -> float:
        return self.own.gbs * self.own.median_us * 1e3

    @property
    def bar(self) -> float | None:
        """The share of the bandwidth that it must reach; none where it is small or its elements are."""
        if self.own.dtype in NARROW or self.own.of_peak is None:
            return None
        return next((share for least, share in reversed(BARS) if self.bytes >= least), None)

    @property
    def aspect(self) -> float:
        """Elements of a sequence by sequences."""
        fields = self.own.fields
        count = {"whole": 1, "rows": fields.get("rows"), "columns": fields.get("cols")}.get(fields["shape"], fields.get("segments"))
        return max(self.own.n, 1) / max(count or 1, 1) ** 2


@dataclass(frozen=True)
class Summary:
    """Of one group; None without a peer, without large reductions."""

    group: str
    reductions: int
    with_peer: int
    mean: float | None
    fifth_percentile: float | None
    least: float | None
    least_at: str
    below: int
    far_below: int
    large: int
    share: float | None
    least_share: float | None
    least_share_at: str
    below_bar: int


def is_sweep(result: ResultFile) -> bool:
    return result.op == "reduce" and any(row.number is not None for row in result.rows)


def drawn(result: ResultFile) -> list[Drawn]:
    """The reductions that the library was timed on: its fastest row, and the peers beside it."""
    found: dict[int, list[Row]] = {}
    for row in result.rows:
        if row.number is not None and row.median_us is not None:
            found.setdefault(row.number, []).append(row)
    reductions = []
    for number in sorted(found):
        own = min((row for row in found[number] if row.role != "peer"), key=lambda row: row.median_us, default=None)
        if own:
            reductions.append(Drawn(own, [row for row in found[number] if row.role == "peer"]))
    return reductions


def _summary(group: str, chosen: list[Drawn]) -> Summary:
    ratios = [(each.ratio, each.own) for each in chosen if each.ratio is not None]
    shares = [(each.own.of_peak, each.bar, each.own) for each in chosen if each.bar is not None]
    least = min(ratios, key=lambda pair: pair[0], default=None)
    least_share = min(shares, key=lambda entry: entry[0], default=None)
    return Summary(
        group, len(chosen), len(ratios),
        mean=geometric_mean(ratio for ratio, _ in ratios),
        fifth_percentile=quantile([ratio for ratio, _ in ratios], 0.05) if ratios else None,
        least=least[0] if least else None,
        least_at=least[1].shape.label if least else "",
        below=sum(ratio < LOSING_RATIO for ratio, _ in ratios),
        far_below=sum(ratio < FAR_LOSING_RATIO for ratio, _ in ratios),
        large=len(shares),
        share=geometric_mean(share for share, _, _ in shares),
        least_share=least_share[0] if least_share else None,
        least_share_at=least_share[2].shape.label if least_share else "",
        below_bar=sum(share < bar for share, bar, _ in shares),
    )  # fmt: skip


def summaries(result: ResultFile) -> list[Summary]:
    """Groups that are empty are left out."""
    all_of_them = drawn(result)
    found = []
    for group in GROUPS:
        chosen = [each for each in all_of_them if group in ("all", each.own.third, each.own.fields["shape"])]
        found += [_summary(group, chosen)] if chosen else []
    return found


def figure(result: ResultFile, group: str, name: str) -> float:
    """One figure of the summary, for sentences."""
    for summary in summaries(result) if is_sweep(result) else []:
        value = getattr(summary, name, None)
        if summary.group == group and isinstance(value, int | float):
            return float(value)
    names = ", ".join(name for name in Summary.__dataclass_fields__ if not name.endswith(("group", "_at")))
    raise ResultError(f"{result.path} has no '{name}' of {group}: groups are {', '.join(GROUPS)}; figures {names}.")


def summary_table(result: ResultFile) -> Table:
    peers = " and ".join(dict.fromkeys(text.kernel(row.kernel) for row in result.rows if row.role == "peer")) or "a peer"
    rows = []
    for summary in summaries(result):
        bold = "best" if summary.group == "all" else ""
        rows.append([
            Cell(GROUPS[summary.group]), Cell(str(summary.reductions)), Cell(str(summary.with_peer)),
            Cell(text.times(summary.mean), bold), Cell(text.times(summary.fifth_percentile)),
            Cell(text.times(summary.least)), Cell(summary.least_at or text.NONE),
            Cell(f"{summary.below} of {summary.with_peer}"), Cell(f"{summary.far_below} of {summary.with_peer}"),
            Cell(text.percent(summary.share)), Cell(text.percent(summary.least_share)),
            Cell(summary.least_share_at or text.NONE), Cell(f"{summary.below_bar} of {summary.large}"),
        ])  # fmt: skip
    seeds = text.listing([text.cut(str(seed), 24) for seed in result.values("seed")])
    caption = (
        f"{len(drawn(result))} reductions at random, seed {seeds}, beside {peers}: the faster one's time by the library's. "
        "Means are geometric. Where the peer takes under 4 µs and the library longer, 0.3 µs of slack. Shares of the "
        "measured read bandwidth are of types of four bytes and more from 64 MiB on; the bar is 75 % there, 85 % from "
        "128 MiB, 90 % from 512 MiB."
    )
    header = [
        "group", "reductions", "with a peer", "mean", "5th percentile", "least", "at", f"below {LOSING_RATIO:g}",
        f"below {FAR_LOSING_RATIO:g}", "of bandwidth", "least", "at", "below the bar",
    ]  # fmt: skip
    return Table(caption, header, rows, left=1)
