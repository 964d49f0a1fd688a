"""The dashboard over results in Parquet (`weaklink web --on DIR`): its pages, their queries, and one trace of them."""
