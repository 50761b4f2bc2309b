"""Graphs of documents, tags and words."""

from tagcore.graph.bipartite import Bipartite, GraphOperator, bipartite_graph

__all__ = ["Bipartite", "GraphOperator", "bipartite_graph"]
