"""Results for people: charts, tables and self-contained HTML pages."""
