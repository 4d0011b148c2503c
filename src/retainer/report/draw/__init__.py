"""What all pages share: charts, tables, themes and HTML."""
