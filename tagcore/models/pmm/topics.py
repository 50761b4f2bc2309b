"""Topics of a PMM to be read, and why a document got a topic and a tag: contributions of words that add up exactly.

ln Σ exp v = Σ r v + H(r) with r ∝ exp v and H the entropy. So a logarithm of sums over components and classes is a
weighted sum of what is linear in the words, and a rest that no word has.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp, softmax

from tagcore.graph.clusters import SplitRecord, split_tree
from tagcore.models.topics import Topic
from tagcore.scoring.explanation import Explanation, TopicChoice

NO_WORDS = "no word of it is known"
NO_NEIGHBOURS = "no document of its topics has a word of it"
NO_TOPIC = "no topic that it may belong to has the tag"
_LEAST = 1e-6  # classes less probable than that give no tags by shares


class ExplainedTopics:
    """What PMM tells of its topics."""

    def list_topics(self: Any, tag_names: Sequence[str], terms: Sequence[str], top: int = 5) -> list[Topic]:
        """Lists all topics, those of most documents first, with their first tags and their most telling words.

        A word tells of a topic as much as it adds to the divergence of the topic's rates from those of all.
        """
        sizes, cuts = self.class_sizes_, {int(c): float(s[4]) for s in self.splits_ for c in s[:2]}
        total = max(int(sizes.sum()), 1)
        mean = sum(size * self._class_rates(k) for k, size in enumerate(sizes)) / total
        listed = []
        for k in np.argsort(-sizes, kind="stable").tolist():
            rates = self._class_rates(k)
            telling = self.used_words_ * rates * np.log(rates / np.maximum(mean, np.finfo(float).tiny))
            words = [j for j in np.argsort(-telling, kind="stable")[:top] if telling[j] > 0]
            tags, shares = self._first_tags(k, top)
            listed.append(
                Topic(
                    k,
                    float(sizes[k] / total),
                    tuple(str(tag_names[i]) for i in tags),
                    tuple(shares.tolist()),
                    words=tuple(str(terms[j]) for j in words),
                    documents=int(sizes[k]),
                    ncut=cuts.get(k),
                )
            )
        return listed

    def split_tree(self: Any, most: int | None = None) -> dict[str, Any]:
        """The recursive splits as a tree, see `tagcore.graph.clusters.split_tree`; with `most` the first so many."""
        return split_tree(
            [SplitRecord(int(p), int(c), (int(a), int(b)), n, s) for p, c, a, b, n, s in self.splits_[:most]]
        )

    def explain_topic(self: Any, X: Any) -> TopicChoice:
        """Tells which topic a document (one row) belongs to, and which words made it so."""
        row = self._checked(X)
        logs, pushes = self._class_logs(row)
        probability = np.asarray(self.class_posterior(row))[0]
        order = np.lexsort((np.arange(logs.size), -logs, -probability))
        fallback = "" if row.data.any() else NO_WORDS
        first, second = int(order[0]), int(order[1]) if logs.size > 1 else None
        push = np.zeros(row.nnz) if second is None else pushes[first] - pushes[second]
        ratio = 0.0 if second is None else logs[first] - logs[second]
        bias, tags = float(ratio - push.sum()), self._first_tags(first, 3)[0]
        return TopicChoice(first, float(probability[first]), second, tags, row.indices, push, bias, fallback)

    def explain(self: Any, X: Any, tag: int) -> Explanation:
        """Tells which words gave a document (one row) the tag.

        Pushes and bias make the score; with scoring "soft" its logarithm. Under "mix" the bias is what its topics gave.
        """
        row = self._checked(X)
        if self.scoring == "rerank":
            return self._explain_votes(row, tag)
        if self.scoring == "mix":
            soft = self._explain_shares(row, tag)
            part = np.exp(soft.bias + soft.push.sum()) if np.isfinite(soft.bias) else 0.0
            push = self.beta * self._word_votes(row, tag)
            return Explanation(row.indices, push, None, float((1 - self.beta) * part), soft.fallback)
        return self._explain_shares(row, tag)

    def _first_tags(self: Any, k: int, top: int) -> tuple[np.ndarray, np.ndarray]:
        """The most used tags of a class and their shares, ties to the lower tag."""
        own = slice(self.class_tag_starts_[k], self.class_tag_starts_[k + 1])
        ids, shares = self.class_tag_ids_[own], self.class_tag_shares_[own]
        best = np.lexsort((ids, -shares))[:top]
        return ids[best], shares[best]

    def _class_rates(self: Any, k: int) -> np.ndarray:
        """The rate of every word in a class, its components taken together."""
        own = slice(self.class_starts_[k], self.class_starts_[k + 1])
        return (self.component_shares_[own] @ self.rates_[own])[self.word_clusters_[:, k]]

    def _class_logs(self: Any, row: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        """ln (prior · likelihood) of every class, up to what all share, and each word's part (classes × words)."""
        counts, words = row.data.astype(np.float64), row.indices
        used = self.used_words_[words]  # others count in the length of the document alone
        sizes = self.class_sizes_ if self.prior == "empirical" else np.ones(self.n_classes_)
        with np.errstate(divide="ignore"):
            log_prior = np.log(sizes / max(sizes.sum(), 1))
        logs, pushes = np.empty(self.n_classes_), np.empty((self.n_classes_, words.size))
        for k in range(self.n_classes_):
            own = slice(self.class_starts_[k], self.class_starts_[k + 1])
            parts = used * counts * np.log(self.rates_[own][:, self.word_clusters_[words, k]])
            constant = np.zeros(parts.shape[0])
            if self.length == "exposure":
                parts = parts - counts / self.mean_length_ * self.mass_[own][:, None]
            else:
                constant = self.mass_[own]
            values = np.log(self.component_shares_[own]) + self.temper * (parts.sum(axis=1) - constant)
            logs[k] = log_prior[k] + logsumexp(values)
            pushes[k] = self.temper * (softmax(values) @ parts)
        return logs, pushes

    def _explain_shares(self: Any, row: sp.csr_matrix, tag: int) -> Explanation:
        """ln Σ P(k) f(k) = ln Σ exp(l + ln f) - ln Σ exp l, where f is the rank in one class or the shares in all."""
        logs, pushes = self._class_logs(row)
        fallback = "" if row.data.any() else NO_WORDS
        log_posterior = logs - logsumexp(logs)
        log_given = np.full(self.n_classes_, -np.inf)
        if self.scoring == "hard":
            if self.tag_classes_[tag] < self.n_classes_:
                log_given[self.tag_classes_[tag]] = self.log_ranks_[tag]
        else:
            shape = (self.n_classes_, self.n_labels_)
            table = sp.csr_matrix((self.class_tag_shares_, self.class_tag_ids_, self.class_tag_starts_), shape=shape)
            given = np.asarray(table[:, [tag]].todense(), np.float64).ravel()
            with np.errstate(divide="ignore"):
                log_given = np.log(np.where(log_posterior >= np.log(_LEAST), given, 0.0))
        values = log_posterior + log_given
        if not np.isfinite(values).any():
            return Explanation(row.indices, np.zeros(row.nnz), None, -np.inf, fallback or NO_TOPIC)
        by_tag = softmax(values)
        push = (by_tag - np.exp(log_posterior)) @ pushes
        return Explanation(row.indices, push, None, float(logsumexp(values) - push.sum()), fallback)

    def _word_votes(self: Any, row: sp.csr_matrix, tag: int) -> np.ndarray:
        """What each word gives the tag of w(tag | document)."""
        shape = (self.n_features_in_, self.n_labels_)
        table = sp.csr_matrix((self.word_tag_weights_, self.word_tag_ids_, self.word_tag_starts_), shape=shape)
        votes = sp.diags(row.data * self.idf_[row.indices]) @ table[row.indices]
        return np.asarray(votes[:, [tag]].todense()).ravel() / max(votes.sum(), np.finfo(float).tiny)

    def _explain_votes(self: Any, row: sp.csr_matrix, tag: int) -> Explanation:
        """A vote is a similarity to the power over the sum of these; a similarity is a sum over words."""
        nearby, parts = self._voters(row)
        if not nearby.size:
            reason = NO_NEIGHBOURS if row.data.any() else NO_WORDS
            return Explanation(row.indices, np.zeros(row.nnz), None, float(self.popular_[tag]), reason)
        sims = parts.sum(axis=0)
        votes = sims ** float(self.power)
        votes /= votes.sum()
        carries = [
            bool((self.row_tag_ids_[self.row_tag_starts_[d] : self.row_tag_starts_[d + 1]] == tag).any())
            for d in nearby
        ]
        return Explanation(row.indices, (parts / sims) @ (votes * carries), None, 0.0)

    def _voters(self: Any, row: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        """The documents that vote, and what each word gives to the similarity of each (words × documents)."""
        logs, probability = self._class_logs(row)[0], np.asarray(self.class_posterior(row))[0]
        order = np.lexsort((np.arange(logs.size), -logs, -probability))
        chosen = np.zeros(self.n_classes_, bool)
        chosen[order[: self.n_searched]] = True
        weights = np.where(row.data > 0, (1 + np.log(np.maximum(row.data, 1e-300))) * self.idf_[row.indices], 0.0)
        weights = weights / max(np.sqrt(np.square(weights).sum()), np.finfo(float).tiny)
        rows, columns, values = [np.empty(0, int)], [np.empty(0, int)], [np.empty(0)]
        for at, word in enumerate(row.indices):
            for entry in range(self.entry_starts_[word], self.entry_starts_[word + 1]):
                if chosen[self.entry_classes_[entry]]:
                    own = slice(self.posting_starts_[entry], self.posting_starts_[entry + 1])
                    columns.append(self.posting_rows_[own].astype(int))
                    rows.append(np.full(columns[-1].size, at))
                    values.append(weights[at] * self.posting_weights_[own].astype(np.float64))
        shape = (row.nnz, self.row_tag_starts_.size - 1)
        parts = sp.csc_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
        sims = np.asarray(parts.sum(axis=0)).ravel().astype(np.float32)
        best = np.argsort(-sims, kind="stable")[: self.n_neighbors]
        best = best[sims[best] > np.finfo(np.float32).tiny]
        return best, np.asarray(parts[:, best].todense())
