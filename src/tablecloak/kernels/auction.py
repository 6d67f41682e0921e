"""Classes from an auction: every tuple bids what it should have to pay, and boxes whose records bid enough are classes.

The bids come from linear programming. If in every box that holds the least number of records the dearest bids, as many
as the least size, pay no more than the box costs, then all bids together are a bound that no release goes below. So
bids are raised and lowered until the boxes that are worth having, the lots, cost about what is bid for them: such bids
say which records make each other dear, which the prices of the classes as they are do not.

Then, again and again, some neighbouring classes are given up, and their tuples are sold anew: always the lot whose
records bid most above its price. Tuples that no lot wants join a class nearby. What lowers the total price stays; at
first so does what raises it a little, which leads out of dead ends.

Reference: Lagrangian heuristics for set covering (Caprara, Fischetti and Toth, 1999); ruin and recreate (Schrimpf et
al., 2000), with threshold accepting (Dueck and Scheuer, 1990).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.kernels.box_search import CodeLevels
from tablecloak.kernels.class_state import FAR
from tablecloak.kernels.dispatch import inner_jit, jit, kernel, leaf_jit
from tablecloak.kernels.prices import Prices, cell_price
from tablecloak.kernels.refining import next_random
from tablecloak.kernels.small_loops import copy_into, sort_up

# Lots list as many records as make so many classes, and all that pay its price.
LISTED = 2
# Lists of lots are at most this long, for each tuple.
MOST_LISTED = 250
# Rounds in which bids are raised and lowered, by half of what they are off at first, and less and less.
ROUNDS, FIRST_STEP, SLOWER, LAST_STEP = 30, 0.5, 0.97, 0.05
# The dearest of a lot are looked for again after so many rounds.
RANKED_EVERY = 5
# In one round a bid becomes at most this many times as high or low; it is never this much above what is paid now.
MOST_RISE, MOST_FALL, MOST_BID = 1.5, 0.5, 1.3
# Classes that are given up together, at most; tuples of which the one that bids least of its price is where they are.
GIVEN_UP, CONTENDERS = 10, 3
# Lots that are looked at for neighbours.
LOOKS = 8
# Tries for each tuple, at most: where lots are few, none of them costs much, and none saves anything.
MOST_TRIES = 40
# The share of the work after which a try may cost nothing more.
COOLED = 0.9
# Bids are changed at random by up to a fifth, so that another try sells otherwise.
NOISE = 5
# What fetching a list costs, in tuples that are looked at: where classes are small, lists are short and many.
FETCH = 20
RANDOM = 1 << 23


class AuctionSteps(NamedTuple):
    """How long an auction takes, in tuples that are looked at."""

    listing: int  # while boxes are listed, at most
    work: int  # while classes are given up and sold anew
    nearly: int = 100  # a box is a lot if its dearest records, paying this many percent of what they do, pay its price
    together: int = GIVEN_UP  # classes that are given up in one try, at most
    slack: float = 0.0  # a try may cost so much more, in mean losses of a class; less and less, in the end nothing
    turn: int = 0  # which round this is: another one tries other classes


class Lots(NamedTuple):
    """Boxes that are worth having, with their members, and of every tuple the lots that hold it.

    Lists are of 32 bits: most of an auction is spent on fetching them.
    """

    price: IntArray  # (n_lots,)
    start: IntArray  # (n_lots + 1,)
    member: IntArray  # tuples of a lot; those that bid most come first
    first: IntArray  # (n + 1,)
    lot: IntArray


@inner_jit
def _ranked(amounts):
    """Tuples in the order of an amount, the largest first; equal ones by their number."""
    n = amounts.size
    most = np.int64(0)
    for i in range(n):
        most = max(most, amounts[i])
    ranked = np.empty(n, np.int64)
    for i in range(n):
        ranked[i] = (most - amounts[i]) * n + i
    sort_up(ranked)
    for i in range(n):
        ranked[i] %= n
    return ranked


@leaf_jit
def _pays(weights, bids, rows, a, b, price, least, nearly):
    """Whether there are enough tuples, and the dearest of them pay nearly the price."""
    need, total = least, np.int64(0)
    for r in range(a, b):
        w = min(weights[rows[r]], need)
        total += w * bids[rows[r]]
        need -= w
        if need == 0:
            break
    return need == 0 and total * nearly >= least * price * 100


@leaf_jit
def _is_one_group(group, rows, a, b):
    """Whether all tuples are of one group."""
    is_one = True
    for r in range(a + 1, b):
        if group[rows[r]] != group[rows[a]]:
            is_one = False
            break
    return is_one


@inner_jit
def _share_out(group, n_groups, rows, a, b, target, starts):
    """Put the tuples of each group together, in the order in which they come."""
    for g in range(n_groups + 1):
        starts[g] = 0
    for r in range(a, b):
        starts[group[rows[r]] + 1] += 1
    starts[0] = a
    for g in range(n_groups):
        starts[g + 1] += starts[g]
    place = starts[:n_groups].copy()
    for r in range(a, b):
        g = group[rows[r]]
        target[place[g]] = rows[r]
        place[g] += 1


@inner_jit
def _list_lots(group, price, n_groups, first, weights, bids, least, steps, stop):
    """Boxes that are worth having, depth first, one dimension after the other: (prices, where members begin, members).

    Args:
        group: (n_levels, n) group of every tuple at every level of every dimension.
        price: (n_levels, n) price of that group.
        first: (n_dims + 1,) first level of each dimension, fine ones first.
    """
    n = group.shape[1]
    n_dims = first.size - 1
    room = n * MOST_LISTED
    prices, start, member = np.empty(room // 4, np.int64), np.zeros(room // 4 + 1, np.int64), np.empty(room, np.int32)
    n_lots, n_listed, work = np.int64(0), np.int64(0), np.int64(0)
    rows = np.empty((n_dims + 1, n), np.int64)
    most_groups = np.int64(0)
    for q in range(n_groups.size):
        most_groups = max(most_groups, n_groups[q])
    starts = np.zeros((n_dims, most_groups + 1), np.int64)
    level, at, cost = np.zeros(n_dims, np.int64), np.zeros(n_dims, np.int64), np.zeros(n_dims + 1, np.int64)
    begin, end = np.zeros(n_dims + 1, np.int64), np.zeros(n_dims + 1, np.int64)
    copy_into(rows[0], _ranked(bids))
    end[0] = n
    d = np.int64(0)
    level[0] = first[0] - 1
    while d >= 0 and work < steps.listing and stop[0] == 0:
        if level[d] < first[d] or at[d] >= n_groups[level[d]]:  # the next level
            level[d] += 1
            at[d] = 0
            if level[d] == first[d + 1]:
                d -= 1
                continue
            _share_out(group[level[d]], n_groups[level[d]], rows[d], begin[d], end[d], rows[d + 1], starts[d])
            work += end[d] - begin[d]
        a, b = starts[d, at[d]], starts[d, at[d] + 1]
        at[d] += 1
        if a == b:
            continue
        own = rows[d + 1]
        paid = cost[d] + price[level[d], own[a]]
        # a box with the same tuples at a finer level costs less
        if level[d] > first[d] and _is_one_group(group[level[d] - 1], own, a, b):
            continue
        if not _pays(weights, bids, own, a, b, paid, least, steps.nearly):
            continue
        if d < n_dims - 1:
            d += 1
            cost[d], begin[d], end[d], level[d], at[d] = paid, a, b, first[d] - 1, 0
            continue
        if n_lots == prices.size or n_listed + b - a > room or paid == 0:
            continue
        records = np.int64(0)
        for r in range(a, b):
            if records >= LISTED * least and bids[own[r]] * steps.nearly < paid * 100:
                break
            member[n_listed] = own[r]
            n_listed += 1
            records += weights[own[r]]
        prices[n_lots] = paid
        n_lots += 1
        start[n_lots] = n_listed
    return prices[:n_lots].copy(), start[: n_lots + 1].copy(), member[:n_listed].copy()


@inner_jit
def _by_tuple(start, member, n):
    """Of every tuple the lots that hold it: (where they begin, lots)."""
    first, lot = np.zeros(n + 1, np.int64), np.empty(member.size, np.int32)
    for r in range(member.size):
        first[member[r] + 1] += 1
    for i in range(n):
        first[i + 1] += first[i]
    place = first[:n].copy()
    for b in range(start.size - 1):
        for r in range(start[b], start[b + 1]):
            i = member[r]
            lot[place[i]] = b
            place[i] += 1
    return first, lot


@inner_jit
def _rank_members(lots, bids):
    """List the members of every lot anew, those that bid most first."""
    order = _ranked(bids)
    place = lots.start[: lots.price.size].copy()
    for q in range(order.size):
        i = order[q]
        for r in range(lots.first[i], lots.first[i + 1]):
            b = lots.lot[r]
            lots.member[place[b]] = i
            place[b] += 1


@inner_jit
def _settle(lots, weights, bids, least, stop):
    """Raise and lower bids until the dearest of every lot pay about its price, and list those that bid most first."""
    n, n_lots = weights.size, lots.price.size
    most, paid = bids.copy(), np.empty(n, np.float64)
    step = FIRST_STEP
    for turn in range(ROUNDS):
        if stop[0] != 0:
            return
        if turn % RANKED_EVERY == 0:
            _rank_members(lots, bids)
        for i in range(n):
            paid[i] = MOST_FALL
        for b in range(n_lots):
            need, total, end = least, np.int64(0), lots.start[b]
            while need > 0:
                i = lots.member[end]
                w = min(weights[i], need)
                total += w * bids[i]
                need -= w
                end += 1
            share = total / (least * lots.price[b])
            for r in range(lots.start[b], end):
                paid[lots.member[r]] = max(paid[lots.member[r]], share)
        for i in range(n):
            change = min(MOST_RISE, max(MOST_FALL, 1.0 / paid[i]))
            bids[i] = min(np.int64(most[i] * MOST_BID), np.int64(bids[i] * (1.0 + step * (change - 1.0))))
        step = max(LAST_STEP, step * SLOWER)
    _rank_members(lots, bids)


class Floor(NamedTuple):
    """Where lots are sold: tuples and classes as they are, and what is tried."""

    codes: np.ndarray  # (n, n_dims)
    weights: np.ndarray  # (n,)
    class_of: np.ndarray  # (n,)
    following: np.ndarray  # (n,) next member of the same class, -1 at the end
    bids: np.ndarray  # (n,)
    head: np.ndarray  # (room,) first member of a class
    size: np.ndarray  # (room,) records; 0: no class
    price: np.ndarray  # (room,) of one record
    box: np.ndarray  # (2, room, n_dims) lowest and highest codes
    sold: np.ndarray  # (n,) class of a tuple that was given up, -1: none yet, -2: it was not
    offer: np.ndarray  # (n,) what a tuple bids in this try
    given: np.ndarray  # (n,) tuples that were given up
    near: np.ndarray  # (room,) classes nearby
    score: np.ndarray  # (room,) how near they are
    left: np.ndarray  # (GIVEN_UP,) classes that are given up
    call: np.ndarray  # (n_lots, 3) price of a lot, records that are missing, and what would be paid above the price
    wanted: np.ndarray  # (n_lots, 2) lots with enough records as a heap, and what would be paid above their prices
    unused: np.ndarray  # (room + 1,) numbers of classes that are free; the last entry says how many
    fresh: np.ndarray  # (n,) classes that were made
    old: np.ndarray  # (n, 3 + 2 * n_dims) class, size, price and box before a tuple joined


@inner_jit
def _open(codes, weights, class_of, n_classes, bids, lot_price, prices):
    """The floor before anything is sold."""
    n, n_dims = codes.shape
    room = 2 * n_classes + 2 * GIVEN_UP
    by_class, by_tuple = np.zeros((5, room), np.int64), np.zeros((5, n), np.int64)
    # what is read and written together shares a line of the cache
    call, wanted = np.zeros((lot_price.size, 3), np.int64), np.zeros((lot_price.size, 2), np.int64)
    for b in range(lot_price.size):
        call[b, 0] = lot_price[b]
    floor = Floor(
        codes, weights, class_of, by_tuple[0], bids, by_class[0], by_class[1], by_class[2],
        np.zeros((2, room, n_dims), np.int64), by_tuple[1], by_tuple[2], by_tuple[3], by_class[3], by_class[4],
        np.zeros(GIVEN_UP, np.int64), call, wanted, np.zeros(room + 1, np.int64), by_tuple[4],
        np.zeros((n, 3 + 2 * n_dims), np.int64),
    )  # fmt: skip
    for g in range(room):
        _empty(floor, g)
    for i in range(n):
        floor.sold[i] = -2
        _add(floor, i, class_of[i])
        _chain(floor, i)
    for g in range(n_classes):
        floor.price[g] = _box_price(floor, prices, g)
    for g in range(room - 1, n_classes - 1, -1):
        _release(floor, g)
    return floor


@leaf_jit
def _empty(floor, g):
    floor.size[g] = 0
    floor.price[g] = 0
    floor.head[g] = -1
    for d in range(floor.codes.shape[1]):
        floor.box[0, g, d] = FAR
        floor.box[1, g, d] = -1


@leaf_jit
def _release(floor, g):
    """Let the number of a class be used again."""
    _empty(floor, g)
    n = floor.unused[-1]
    floor.unused[n] = g
    floor.unused[-1] = n + 1


@leaf_jit
def _chain(floor, i):
    """Make a tuple a member of the class that is noted for it."""
    g = floor.class_of[i]
    floor.following[i] = floor.head[g]
    floor.head[g] = i


@leaf_jit
def _add(floor, i, g):
    """Widen a class by a tuple."""
    floor.size[g] += floor.weights[i]
    for d in range(floor.codes.shape[1]):
        floor.box[0, g, d] = min(floor.box[0, g, d], floor.codes[i, d])
        floor.box[1, g, d] = max(floor.box[1, g, d], floor.codes[i, d])


@leaf_jit
def _box_price(floor, prices, g):
    price = np.int64(0)
    for d in range(floor.codes.shape[1]):
        price += cell_price(prices, d, floor.box[0, g, d], floor.box[1, g, d])
    return price


@leaf_jit
def _look_around(floor, lots, i, seed):
    """Note the classes that share lots with a tuple, and how many they share: (how many, tuples looked at, seed)."""
    n_near, work = np.int64(0), np.int64(0)
    n_lots = lots.first[i + 1] - lots.first[i]
    for _ in range(min(n_lots, LOOKS)):
        seed = next_random(seed)
        b = lots.lot[lots.first[i] + seed // 256 % n_lots]
        work += FETCH + lots.start[b + 1] - lots.start[b]
        for r in range(lots.start[b], lots.start[b + 1]):
            g = floor.class_of[lots.member[r]]
            if floor.price[g] > 0:
                if floor.score[g] == 0:
                    floor.near[n_near] = g
                    n_near += 1
                floor.score[g] += 1
    return n_near, work, seed


@leaf_jit
def _give_up(floor, i, n_near, together, seed):
    """Give up the class of a tuple and some of those nearby: (how many, tuples, records, what they cost, seed)."""
    seed = next_random(seed)
    most = 2 + seed // 256 % (together - 1)
    floor.left[0], n_left = floor.class_of[i], np.int64(1)
    floor.score[floor.class_of[i]] = 0
    while n_left < most:
        nearest, best = np.int64(-1), np.int64(0)
        for q in range(n_near):
            g = floor.near[q]
            seed = next_random(seed)
            score = floor.score[g] * (200 + seed // 256 % 1024)
            if score > best:
                nearest, best = g, score
        if nearest < 0:
            break
        floor.left[n_left] = nearest
        n_left += 1
        floor.score[nearest] = 0
    for q in range(n_near):
        floor.score[floor.near[q]] = 0
    n, n_records, cost = np.int64(0), np.int64(0), np.int64(0)
    for q in range(n_left):
        g = floor.left[q]
        n_records += floor.size[g]
        cost += floor.size[g] * floor.price[g]
        j = floor.head[g]
        while j >= 0:
            seed = next_random(seed)
            floor.offer[j] = floor.bids[j] + floor.bids[j] * (seed // 256 - RANDOM // 2) // RANDOM * 2 // NOISE
            floor.sold[j] = -1
            floor.given[n] = j
            n += 1
            j = floor.following[j]
        floor.size[g] = -floor.size[g]  # nobody joins it
    return n_left, n, n_records, cost, seed


@leaf_jit
def _call(floor, lots, n, least):
    """Note what would be paid for each lot: (lots with enough records, tuples looked at)."""
    n_wanted, work, wanted = np.int64(0), np.int64(0), floor.wanted
    for q in range(n):
        i = floor.given[q]
        w, offer = floor.weights[i], floor.offer[i]
        work += FETCH + lots.first[i + 1] - lots.first[i]
        for r in range(lots.first[i], lots.first[i + 1]):
            call = floor.call[lots.lot[r]]
            price, need = call[0], call[1]
            if need == 0:
                need = least + 1  # 1 says that it is noted
                call[2] = 0
                wanted[n_wanted, 0] = lots.lot[r]
                n_wanted += 1
            if need > 1 or offer > price:
                call[2] += w * (offer - price)
                need = max(np.int64(1), need - w)
            call[1] = need
    n = np.int64(0)
    for q in range(n_wanted):
        b = wanted[q, 0]
        if floor.call[b, 1] == 1:
            wanted[n, 0], wanted[n, 1] = b, floor.call[b, 2]
            n += 1
        floor.call[b, 1] = 0
    return n, work


@leaf_jit
def _bid(floor, lots, b, least, g):
    """Whether enough records are left, and what they pay above the price of a lot; with a class (not -1), sell it."""
    need, gain, price = least, np.int64(0), lots.price[b]
    for r in range(lots.start[b], lots.start[b + 1]):
        i = np.int64(lots.member[r])
        if floor.sold[i] == -1 and (need > 0 or floor.offer[i] > price):
            gain += floor.weights[i] * (floor.offer[i] - price)
            need -= floor.weights[i]
            if g >= 0:
                floor.sold[i] = g
                _add(floor, i, g)
    return need <= 0, gain


@leaf_jit
def _sink(wanted, at, n):
    """Let a lot sink in the heap of those that are wanted, below all that gain more."""
    b, gain = wanted[at, 0], wanted[at, 1]
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and wanted[child + 1, 1] > wanted[child, 1]:
            child += 1
        if wanted[child, 1] <= gain:
            break
        wanted[at, 0], wanted[at, 1] = wanted[child, 0], wanted[child, 1]
        at = child
    wanted[at, 0], wanted[at, 1] = b, gain


@leaf_jit
def _sell(floor, lots, prices, n_wanted, n_records, least, most):
    """Sell lots of so many records, always the one that gains most, until they cost too much or none has enough left:
    (classes made, cost, tuples looked at)."""
    n_fresh, cost, work, wanted = np.int64(0), np.int64(0), n_wanted, floor.wanted
    for at in range(n_wanted // 2 - 1, -1, -1):
        _sink(wanted, np.int64(at), n_wanted)
    while n_wanted > 0 and n_records >= least and floor.unused[-1] > 0 and cost < most:
        b = wanted[0, 0]
        work += FETCH + lots.start[b + 1] - lots.start[b]
        is_enough, gain = _bid(floor, lots, b, least, np.int64(-1))
        if is_enough and gain < wanted[0, 1]:  # some were sold; others may gain more
            wanted[0, 1] = gain
            _sink(wanted, np.int64(0), n_wanted)
            continue
        n_wanted -= 1
        wanted[0, 0], wanted[0, 1] = wanted[n_wanted, 0], wanted[n_wanted, 1]
        _sink(wanted, np.int64(0), n_wanted)
        if is_enough:
            floor.unused[-1] -= 1
            g = floor.unused[floor.unused[-1]]
            _bid(floor, lots, b, least, g)
            floor.price[g] = _box_price(floor, prices, g)
            cost += floor.size[g] * floor.price[g]
            n_records -= floor.size[g]
            floor.fresh[n_fresh] = g
            n_fresh += 1
    return n_fresh, cost, work


@leaf_jit
def _nearest(floor, prices, i, n_near, n_fresh, most):
    """The class nearby that a tuple joins at least added price, below the most: (class or -1, added price)."""
    chosen, w = np.int64(-1), floor.weights[i]
    for q in range(n_near + n_fresh):
        g = floor.near[q] if q < n_near else floor.fresh[q - n_near]
        base, total = floor.size[g] * floor.price[g], floor.size[g] + w
        if floor.size[g] <= 0 or total * floor.price[g] - base >= most:
            continue
        limit, price = (most + base) // total, np.int64(0)
        for d in range(floor.codes.shape[1]):
            lo, hi = min(floor.box[0, g, d], floor.codes[i, d]), max(floor.box[1, g, d], floor.codes[i, d])
            price += cell_price(prices, d, lo, hi)
            if price > limit:
                break
        if total * price - base < most:
            chosen, most = g, total * price - base
    return chosen, most


@leaf_jit
def _place_rest(floor, prices, n, n_near, n_fresh, budget):
    """Let tuples that nobody bought join classes nearby: (whether all did within the budget, joins, what they add)."""
    n_joins, added = np.int64(0), np.int64(0)
    n_dims = floor.codes.shape[1]
    for q in range(n):
        i = floor.given[q]
        if floor.sold[i] >= 0:
            continue
        g, more = _nearest(floor, prices, i, n_near, n_fresh, budget - added)
        if g < 0:
            return False, n_joins, added
        old = floor.old[n_joins]
        old[0], old[1], old[2] = g, floor.size[g], floor.price[g]
        for d in range(n_dims):
            old[3 + d], old[3 + n_dims + d] = floor.box[0, g, d], floor.box[1, g, d]
        n_joins += 1
        _add(floor, i, g)
        floor.price[g] = _box_price(floor, prices, g)
        floor.sold[i] = g
        added += more
    return True, n_joins, added


@leaf_jit
def _take_back(floor, n_left, n_fresh, n_joins):
    """Let everything be as it was before the try."""
    n_dims = floor.codes.shape[1]
    for q in range(n_joins - 1, -1, -1):
        old = floor.old[q]
        g = old[0]
        floor.size[g], floor.price[g] = old[1], old[2]
        for d in range(n_dims):
            floor.box[0, g, d], floor.box[1, g, d] = old[3 + d], old[3 + n_dims + d]
    for q in range(n_fresh):
        _release(floor, floor.fresh[q])
    for q in range(n_left):
        floor.size[floor.left[q]] = -floor.size[floor.left[q]]


@leaf_jit
def _confirm(floor, n_left, n):
    """Make what was tried the classes."""
    for q in range(n_left):
        _release(floor, floor.left[q])
    for q in range(n):
        i = floor.given[q]
        floor.class_of[i] = floor.sold[i]
        _chain(floor, i)


@leaf_jit
def _dearest_of_some(floor, seed):
    """Of some tuples the one whose class costs most above its bid, -1: none costs anything; and the seed."""
    chosen, most = np.int64(-1), np.int64(-1)
    for _ in range(CONTENDERS):
        seed = next_random(seed)
        i = seed // 256 % floor.weights.size
        price = floor.price[floor.class_of[i]]
        if price > 0 and price - floor.bids[i] > most:
            chosen, most = np.int64(i), price - floor.bids[i]
    return chosen, seed


@inner_jit
def _rank_offers(floor, n):
    """Put the tuples that were given up in the order of their offers."""
    most = np.int64(0)
    for q in range(n):
        most = max(most, floor.offer[floor.given[q]])
    keys, n_all = np.empty(n, np.int64), floor.weights.size
    for q in range(n):
        keys[q] = (most - floor.offer[floor.given[q]]) * n_all + floor.given[q]
    sort_up(keys)
    for q in range(n):
        floor.given[q] = keys[q] % n_all


@inner_jit
def _try_once(floor, lots, prices, least, together, slack, seed):
    """Give up some classes and sell their tuples anew, if that costs little more: (saved, tuples looked at, seed)."""
    nothing = np.int64(0)
    i, seed = _dearest_of_some(floor, seed)
    if i < 0:
        return nothing, np.int64(CONTENDERS), seed
    n_near, work, seed = _look_around(floor, lots, i, seed)
    n_left, n, n_records, before, seed = _give_up(floor, i, n_near, together, seed)
    work += n_near * n_left + n
    n_fresh, n_joins, cost, is_placed = nothing, nothing, before, False
    if n_left > 1:
        _rank_offers(floor, n)
        n_wanted, looked = _call(floor, lots, n, least)
        n_fresh, cost, more = _sell(floor, lots, prices, n_wanted, n_records, least, before + slack)
        work += looked + more
        if cost < before + slack:
            is_placed, n_joins, added = _place_rest(floor, prices, n, n_near, n_fresh, before + slack - cost)
            cost += added
            work += (n_near + n_fresh) * n_joins
    is_kept = is_placed and cost < before + slack and cost != before
    if is_kept:
        _confirm(floor, n_left, n)
    else:
        _take_back(floor, n_left, n_fresh, n_joins)
    for q in range(n):
        floor.sold[floor.given[q]] = -2
    return before - cost if is_kept else nothing, work, seed


@leaf_jit
def _mean_loss(floor, n_classes):
    total = np.int64(0)
    for g in range(floor.size.size):
        total += floor.size[g] * floor.price[g]
    return total / n_classes


@jit
def _auction(codes, weights, class_of, n_classes, prices, least, group, price, n_groups, first, steps, seed, stop):
    """What is saved."""
    n = weights.size
    bids = np.zeros(n, np.int64)
    floor = _open(codes, weights, class_of, n_classes, bids, bids[:0], prices)
    for i in range(n):
        bids[i] = floor.price[class_of[i]]
    lot_price, start, member = _list_lots(group, price, n_groups, first, weights, bids, least, steps, stop)
    lot_first, lot = _by_tuple(start, member, n)
    lots = Lots(lot_price, start, member, lot_first, lot)
    _settle(lots, weights, bids, least, stop)
    floor = _open(codes, weights, class_of, n_classes, bids, lot_price, prices)
    most_slack = steps.slack * _mean_loss(floor, n_classes)
    saved, work, n_tries = np.int64(0), np.int64(0), np.int64(0)
    while work < steps.work and n_tries < n * MOST_TRIES and stop[0] == 0:
        n_tries += 1
        slack = np.int64(most_slack * max(0.0, 1.0 - work / (COOLED * steps.work)))
        more, looked, seed = _try_once(floor, lots, prices, least, steps.together, slack, seed)
        saved += more
        work += looked + 1
    return saved


@kernel()
def auction(
    codes: IntArray,
    weights: IntArray,
    class_of: IntArray,
    prices: Prices,
    least: int,
    *,
    levels: CodeLevels,
    steps: AuctionSteps,
    seed: int,
    stop: IntArray,
) -> int:
    """Change the classes of tuples, in place, where an auction lowers their total price; how much is saved.

    Args:
        least: records of a class.
        levels: of all dimensions, of which lots are made.
        stop: (1,) another thread may set it to end the auction early.
    """
    # those of many codes first: fewer tuples are left where boxes are many
    order, first = levels.order[::-1], [0]
    group, price, n_groups = [], [], []
    for d in order.tolist():
        for level in range(int(levels.first[d]), int(levels.first[d + 1])):
            places = levels.start[level] + codes[:, d]
            group.append(levels.group[places])
            price.append(levels.price[places])
            n_groups.append(int(levels.n_groups[level]))
        first.append(len(group))
    n_classes, before = int(class_of.max()) + 1, class_of.copy()
    saved = int(
        _auction(
            codes, weights, class_of, n_classes, prices, least, np.array(group).astype(np.int64),
            np.array(price).astype(np.int64), np.array(n_groups), np.array(first), steps, seed, stop,
        )
    )  # fmt: skip
    if saved < 0:  # ended by the clock, or where what was tried led nowhere
        class_of[:] = before
    return max(0, saved)
