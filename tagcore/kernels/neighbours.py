"""The nearest documents by similarity, and the tags that they vote for."""

import numpy as np
from numba import njit

_LANES = 128  # a constant, so that the loops over it run in vector registers
_LEAST_BITS = int(np.array(np.finfo(np.float32).tiny).view(np.int32))  # smaller similarities count as none
_SIXTY_FOURTH = 6 << 23  # in bits, from a similarity to a 64th of it
_FEW = 128  # so many documents to a wanted one are few


@njit(cache=True, nogil=True)
def _reaching(bits, bar):
    count = np.int32(0)
    for document in range(bits.size):
        count += np.int32(bits[document] >= bar)
    return count


@njit(cache=True, nogil=True)
def _highest(bits):
    highest = np.int32(0)
    for document in range(bits.size):
        highest = bits[document] if bits[document] > highest else highest
    return highest


@njit(cache=True, nogil=True)
def _halved_bar(bits, k, more):
    """(bar, how many reach it), both of the bits of similarities, which as whole numbers have the same order where they
    are positive: k at least, `more` above that at most unless they are equal; all positive ones where they are fewer.
    """
    low = np.int32(_LEAST_BITS)
    count, high = _reaching(bits, low), np.int32(_highest(bits) + 1)
    middle = max(np.int32(high - _SIXTY_FOURTH), np.int32(low + 1))  # most wanted ones are not much less alike
    while count > k + more and high - low > 1:
        above = _reaching(bits, middle)
        if above >= k:
            low, count = middle, above
        else:
            high = middle
        middle = np.int32(low + (high - low) // 2)
    return low, count


@njit(cache=True, nogil=True)
def _lane_bar(sims, k):
    """A positive similarity that at least k documents reach, as high as is cheap to know (or any positive one).

    Document d belongs to lane d mod _LANES; what k lanes' maxima reach, k documents reach.
    """
    maxima = np.zeros(_LANES, np.float32)
    bits = maxima.view(np.int32)
    if k > _LANES:
        bits[0] = _LEAST_BITS
        return maxima[0]
    whole = sims.size // _LANES * _LANES
    for start in range(0, whole, _LANES):
        for lane in range(_LANES):
            maxima[lane] = sims[start + lane] if sims[start + lane] > maxima[lane] else maxima[lane]
    for document in range(whole, sims.size):
        maxima[document - whole] = max(maxima[document - whole], sims[document])
    bits[0] = _halved_bar(bits, k, 0)[0]
    return maxima[0]


@njit(cache=True, nogil=True)
def _worse(sims, a, b):
    return sims[a] < sims[b] or (sims[a] == sims[b] and a > b)


@njit(cache=True, nogil=True)
def _sift_down(heap, size, sims):
    at = 0
    while True:
        worst = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and _worse(sims, heap[child], heap[worst]):
                worst = child
        if worst == at:
            return
        heap[at], heap[worst] = heap[worst], heap[at]
        at = worst


@njit(cache=True, nogil=True)
def _enter(heap, size, document, sims):
    """Adds a document to the heap of the best, the worst of them on top; returns its new size."""
    if size == heap.size:
        if sims[document] > sims[heap[0]]:
            heap[0] = document
            _sift_down(heap, size, sims)
        return size
    at = size
    heap[at] = document
    while at > 0 and _worse(sims, heap[at], heap[(at - 1) // 2]):
        heap[at], heap[(at - 1) // 2] = heap[(at - 1) // 2], heap[at]
        at = (at - 1) // 2
    return size + 1


@njit(cache=True, nogil=True)
def _nearest_of_few(bits, nearby):
    """As `nearest`, of the bits of similarities: those that reach a bar which some more than wanted reach are sorted by
    similarity and number in one word.
    """
    k = nearby.size
    low, count = _halved_bar(bits, k, k // 4)
    keys, size = np.empty(count, np.int64), 0
    for document in range(bits.size):
        if bits[document] >= low:
            keys[size] = (np.int64(bits[document]) << 32) - document
            size += 1
    keys = np.sort(keys)
    found = min(size, k)
    for i in range(found):
        nearby[i] = -keys[size - 1 - i] & 0xFFFFFFFF
    return found


@njit(cache=True, nogil=True)
def nearest(sims, nearby):
    """Fills `nearby` with the documents of highest similarity above 0, best first, ties to the lower number.

    Returns how many there are. Documents enter in rising order, so an equal one never displaces another.
    """
    if sims.size <= _FEW * nearby.size:
        return _nearest_of_few(sims.view(np.int32), nearby)
    size, bar = 0, _lane_bar(sims, nearby.size)
    whole = sims.size // _LANES * _LANES
    for start in range(0, whole, _LANES):
        reaching = 0
        for lane in range(_LANES):
            reaching += sims[start + lane] >= bar
        if reaching:
            for document in range(start, start + _LANES):
                if sims[document] >= bar:
                    size = _enter(nearby, size, document, sims)
    for document in range(whole, sims.size):
        if sims[document] >= bar:
            size = _enter(nearby, size, document, sims)
    for last in range(size - 1, 0, -1):
        nearby[0], nearby[last] = nearby[last], nearby[0]
        _sift_down(nearby, last, sims)
    return size


@njit(cache=True, nogil=True)
def weigh_votes(sims, nearby, power):
    """What each neighbour's tags receive: similarity^power, together 1 (nothing if all of them vanish)."""
    votes = np.empty(nearby.size)
    total = 0.0
    for i in range(nearby.size):
        sim = float(sims[nearby[i]])
        votes[i] = sim * sim if power == 2.0 else sim**power  # exact either way, as similarities have 24 bits
        total += votes[i]
    return votes / total if total > 0.0 else votes[:0]


@njit(cache=True, nogil=True)
def tally_votes(votes, nearby, tag_starts, tag_ids, tag_weights):
    """Tags of the neighbours and their sums of votes, in the order of first mention: 1 at most, whatever rounding says.

    Sums are found by open addressing, so that no array is as long as all tags.
    """
    entries = 0
    for document in nearby:
        entries += tag_starts[document + 1] - tag_starts[document]
    slots = 16
    while slots < 2 * entries:
        slots *= 2
    table = np.full(slots, np.int32(-1))
    tags = np.empty(entries, np.int32)
    sums = np.empty(entries)
    found = 0
    for i in range(nearby.size):
        for p in range(tag_starts[nearby[i]], tag_starts[nearby[i] + 1]):
            tag = tag_ids[p]
            slot = tag & (slots - 1)
            while table[slot] >= 0 and tags[table[slot]] != tag:
                slot = (slot + 1) & (slots - 1)
            if table[slot] < 0:
                table[slot] = found
                tags[found] = tag
                sums[found] = 0.0
                found += 1
            sums[table[slot]] = min(1.0, sums[table[slot]] + votes[i] * tag_weights[p])
    return tags[:found], sums[:found]


@njit(cache=True, nogil=True)
def best_tags(candidates, sums, tags, scores):
    """The best of the candidates, ties to the lower tag; then tags without a vote, lowest first."""
    filled = 0
    for c in range(candidates.size):
        tag, score = candidates[c], sums[c]
        if not score > 0.0:
            continue
        at = filled
        while at > 0 and (score > scores[at - 1] or (score == scores[at - 1] and tag < tags[at - 1])):
            if at < tags.size:
                scores[at] = scores[at - 1]
                tags[at] = tags[at - 1]
            at -= 1
        if at < tags.size:
            scores[at] = score
            tags[at] = tag
            filled = min(filled + 1, tags.size)
    _pad(tags, scores, filled)


@njit(cache=True, nogil=True)
def _pad(tags, scores, filled):
    """Tags without a vote follow with score 0, lowest first."""
    if filled == tags.size:
        return
    voted = np.sort(tags[:filled])
    tag = skip = 0
    while filled < tags.size:
        if skip < voted.size and voted[skip] == tag:
            skip += 1
        else:
            tags[filled] = tag
            scores[filled] = 0.0
            filled += 1
        tag += 1
