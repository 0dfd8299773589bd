"""Thin adapters to libraries that train and track models; each imports its library on first use."""
