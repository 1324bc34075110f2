"""Turns the JSON that `kernelwright ... --json FILE` writes into tables, plots and a web page."""
