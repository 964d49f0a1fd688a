"""Reports: results with totals, in text, JSON, HTML and the formats of CI servers."""
