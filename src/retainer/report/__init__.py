"""Results for human eyes: the demo's page, picture and table; the tables and the page of a bench."""

from retainer.report.examples import Example
from retainer.report.page import page
from retainer.report.pictures import curves
from retainer.report.tables import text_table

__all__ = ["Example", "curves", "page", "text_table"]
