"""Files that are written whole or not at all, and Parquet files with facts."""
