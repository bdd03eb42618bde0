"""Derivatives and batching, as functions from Graph to Graph."""
