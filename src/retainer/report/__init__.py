"""The demo's result for human eyes: one HTML page, one picture, one table for the terminal."""

from retainer.report.examples import Example
from retainer.report.page import page
from retainer.report.svg import curves
from retainer.report.tables import text_table

__all__ = ["Example", "curves", "page", "text_table"]
