"""Adapters to libraries that train and track models, each imported with its library, and readers of logs."""
