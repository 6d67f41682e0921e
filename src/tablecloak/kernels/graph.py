"""Graphs in compressed rows: the arcs of node `v` lead to `heads[indptr[v]:indptr[v + 1]]`."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.kernels.dispatch import kernel


@kernel(compiled_from=50_000, is_loop=True)  # arcs
def components(indptr: IntArray, heads: IntArray) -> IntArray:
    """The strongly connected component of every node (Tarjan, without recursion)."""
    n = len(indptr) - 1
    label = np.full(n, -1, np.int64)
    number = np.full(n, -1, np.int64)
    low = np.zeros(n, np.int64)
    at = indptr[:-1].copy()
    path = np.empty(n, np.int64)
    stack = np.empty(n, np.int64)
    n_stack, n_seen, n_components = 0, 0, 0
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
                    label[stack[n_stack]] = n_components
                    if stack[n_stack] == v:
                        break
                n_components += 1
            n_path -= 1
    return label


@kernel(compiled_from=100_000, is_loop=True)  # arcs
def transport(indptr: IntArray, heads: IntArray, demand: IntArray, supply: IntArray) -> IntArray:
    """How much goes along every arc when as much as possible goes from right nodes to left ones (Dinic).

    Left node `v` takes at most `demand[v]`, right node `w` gives at most `supply[w]`; arcs carry any amount. Where all
    demands and supplies are 1, this is a maximum matching.

    Each phase finds the distance of free nodes by breadth-first search and then augments along disjoint shortest paths.
    """
    n, n_right, n_arcs = len(indptr) - 1, len(supply), len(heads)
    amount = np.zeros(n_arcs, np.int64)
    wanted, left_over = demand.copy(), supply.copy()
    tails = np.empty(n_arcs, np.int64)
    back_ptr = np.zeros(n_right + 1, np.int64)  # the arcs of right node w are back[back_ptr[w]:back_ptr[w + 1]]
    for v in range(n):
        for a in range(indptr[v], indptr[v + 1]):
            tails[a] = v
            back_ptr[heads[a] + 1] += 1
    for w in range(n_right):
        back_ptr[w + 1] += back_ptr[w]
    back = np.empty(n_arcs, np.int64)
    at_right = back_ptr[:-1].copy()
    for a in range(n_arcs):
        back[at_right[heads[a]]] = a
        at_right[heads[a]] += 1
    at = np.empty(n, np.int64)
    depth = np.empty(n, np.int64)
    depth_right = np.empty(n_right, np.int64)
    queue = np.empty(n, np.int64)
    path = np.empty(n, np.int64)
    while True:
        depth_right[:] = -1
        at_right[:] = back_ptr[:-1]
        n_queue = 0
        for v in range(n):
            depth[v] = -1
            at[v] = indptr[v]
            if wanted[v] > 0:
                depth[v] = 0
                queue[n_queue] = v
                n_queue += 1
        is_open = False
        i = 0
        while i < n_queue:
            v = queue[i]
            i += 1
            for a in range(indptr[v], indptr[v + 1]):
                w = heads[a]
                if depth_right[w] >= 0:
                    continue
                depth_right[w] = depth[v] + 1
                if left_over[w] > 0:
                    is_open = True
                    continue
                for j in range(back_ptr[w], back_ptr[w + 1]):
                    u = tails[back[j]]
                    if amount[back[j]] > 0 and depth[u] < 0:
                        depth[u] = depth_right[w] + 1
                        queue[n_queue] = u
                        n_queue += 1
        if not is_open:
            return amount
        for root in range(n):
            while wanted[root] > 0:
                n_path = 1
                path[0] = root
                end = -1
                while n_path > 0 and end < 0:
                    v = path[n_path - 1]
                    if at[v] == indptr[v + 1]:  # a dead end: the right node before tries its next arc
                        depth[v] = -1
                        n_path -= 1
                        if n_path > 0:
                            at_right[heads[at[path[n_path - 1]]]] += 1
                        continue
                    w = heads[at[v]]
                    if depth_right[w] != depth[v] + 1:
                        at[v] += 1
                        continue
                    if left_over[w] > 0:
                        end = w
                        continue
                    is_stuck = True
                    while at_right[w] < back_ptr[w + 1]:
                        b = back[at_right[w]]
                        if amount[b] > 0 and depth[tails[b]] == depth_right[w] + 1:
                            path[n_path] = tails[b]
                            n_path += 1
                            is_stuck = False
                            break
                        at_right[w] += 1
                    if is_stuck:
                        at[v] += 1
                if end < 0:
                    break
                least = min(wanted[root], left_over[end])
                for j in range(n_path - 1):
                    least = min(least, amount[back[at_right[heads[at[path[j]]]]]])
                for j in range(n_path):
                    amount[at[path[j]]] += least
                    if j < n_path - 1:
                        amount[back[at_right[heads[at[path[j]]]]]] -= least
                wanted[root] -= least
                left_over[end] -= least
