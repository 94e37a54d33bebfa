"""The table that the page offers to attach."""

from pathlib import Path


def test_the_sample_of_the_page_is_the_one_the_terminal_names() -> None:
    root = Path(__file__).parents[2]
    samples = [root / "bot/workspace/page/sales.csv", root / "specialists/samples/sales.csv"]
    assert samples[0].read_bytes() == samples[1].read_bytes()
