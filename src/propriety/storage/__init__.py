"""Files that are written whole or not at all, Parquet files with facts, and stores of several files."""
