"""Graphs in compressed rows: the arcs of node `v` lead to `heads[indptr[v]:indptr[v + 1]]`.

Plain loops that also compile: `compiled/graph.py` holds the same functions as machine code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["components", "matching"]

IntArray = NDArray[np.int64]


def components(indptr: IntArray, heads: IntArray) -> IntArray:
    """The strongly connected component of every node (Tarjan, without recursion)."""
    n = len(indptr) - 1
    label = np.full(n, -1, np.int64)
    number = np.full(n, -1, np.int64)
    low = np.zeros(n, np.int64)
    at = indptr[:-1].copy()
    path = np.empty(n, np.int64)
    stack = np.empty(n, np.int64)
    n_stack, n_seen, n_found = 0, 0, 0
    for root in range(n):
        if number[root] >= 0:
            continue
        n_path = 1
        path[0] = root
        while n_path > 0:
            v = path[n_path - 1]
            if number[v] < 0:
                number[v] = n_seen
                low[v] = n_seen
                n_seen += 1
                stack[n_stack] = v
                n_stack += 1
            descends = False
            while at[v] < indptr[v + 1]:
                w = heads[at[v]]
                if number[w] < 0:
                    path[n_path] = w
                    n_path += 1
                    descends = True
                    break
                if label[w] < 0:
                    low[v] = min(low[v], low[w])
                at[v] += 1
            if descends:
                continue
            if low[v] == number[v]:
                while True:
                    n_stack -= 1
                    label[stack[n_stack]] = n_found
                    if stack[n_stack] == v:
                        break
                n_found += 1
            n_path -= 1
    return label


def matching(indptr: IntArray, heads: IntArray, n_right: int) -> IntArray:
    """The right node matched with every left node, -1 for none: a maximum matching (Hopcroft-Karp).

    Each phase finds the distance of free nodes by breadth-first search and then augments along disjoint shortest paths.
    """
    n = len(indptr) - 1
    right_of = np.full(n, -1, np.int64)
    left_of = np.full(n_right, -1, np.int64)
    depth = np.empty(n, np.int64)
    queue = np.empty(n, np.int64)
    at = np.empty(n, np.int64)
    path = np.empty(n, np.int64)
    while True:
        n_queue = 0
        for v in range(n):
            depth[v] = -1
            at[v] = indptr[v]
            if right_of[v] < 0:
                depth[v] = 0
                queue[n_queue] = v
                n_queue += 1
        is_open = False
        i = 0
        while i < n_queue:
            v = queue[i]
            i += 1
            for a in range(indptr[v], indptr[v + 1]):
                w = left_of[heads[a]]
                if w < 0:
                    is_open = True
                elif depth[w] < 0:
                    depth[w] = depth[v] + 1
                    queue[n_queue] = w
                    n_queue += 1
        if not is_open:
            return right_of
        for root in range(n):
            if right_of[root] >= 0:
                continue
            n_path = 1
            path[0] = root
            while n_path > 0:
                v = path[n_path - 1]
                if at[v] == indptr[v + 1]:  # a dead end: the node before tries its next arc
                    depth[v] = -1
                    n_path -= 1
                    if n_path > 0:
                        at[path[n_path - 1]] += 1
                    continue
                w = left_of[heads[at[v]]]
                if w < 0:
                    for j in range(n_path):
                        u = path[j]
                        right_of[u] = heads[at[u]]
                        left_of[heads[at[u]]] = u
                        depth[u] = -1
                    break
                if depth[w] == depth[v] + 1:
                    path[n_path] = w
                    n_path += 1
                else:
                    at[v] += 1
