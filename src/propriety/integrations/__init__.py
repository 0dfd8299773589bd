"""Thin adapters to libraries that train and track models; each imports its library when it is asked for."""
