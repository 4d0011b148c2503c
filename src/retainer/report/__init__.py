"""Results for readers: charts, tables and self-contained HTML pages."""
