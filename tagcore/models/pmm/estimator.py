"""PMM as an estimator: topics of a graph, a mixture per topic, tags in microseconds."""

from types import MappingProxyType
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array, require_csr, require_lists, restore_on_failure
from tagcore.features.rows import Rows, load_all
from tagcore.graph.clusters import CHOICES
from tagcore.graph.node_ranks import SCALES
from tagcore.graph.policies import POLICIES
from tagcore.models.pmm import growing, learning, scoring
from tagcore.models.pmm.mixture import CLUSTER_IDS, LENGTHS, MOST_WORD_CLUSTERS
from tagcore.models.pmm.score_kernel import UNRANKED
from tagcore.models.pmm.starts import STARTS
from tagcore.models.pmm.tables import document_index, word_tag_table
from tagcore.models.pmm.topics import ExplainedTopics
from tagcore.parameters import MOST_IDS, POSITIVE, ROUNDS, SEED, Choice, Real, Whole, limits
from tagcore.scikit import check_random_state
from tagcore.tag_model import TagModel
from tagcore.training import FitContext


class PMM(ExplainedTopics, TagModel):
    """Topics cut out of the graph of documents, words and tags, and a two-way Poisson mixture of each (SIGIR 2008).

    It learns from counts of words, which a recipe gives it unless told otherwise. The published method ranks poorly,
    see docs/models.md; the defaults are repaired, `PMM.published()` is the paper to the letter.

    Parameters
    ----------
    n_classes : topics to cut; None takes one to 40 documents, for "rerank" one to 400, at most 300. Fewer where nothing
        is left to cut; at most 100,000, and with so many words that the table of both has 2³⁰ cells.
    n_components : components of all mixtures together; None takes a third more than classes.
    n_word_clusters : word clusters of each class.
    n_words : words that the mixture looks at, those that tell most about classes (mutual information); None takes all.
        The length of a document, and what neighbours share, is in all its words.
    scoring : how tags are scored. "rerank" lets the nearest documents of the most probable classes vote, "soft" adds up
        the shares of tags in all classes, "hard" is the published rank of a tag times the probability of its class,
        "mix" is soft with the tags that words were seen with.
    n_searched : classes that "rerank" looks into.
    n_neighbors, power : documents that vote, and how much more the nearer ones count, for "rerank".
    temper : multiplies likelihoods, which are far too sure of one class at 1, the published value.
    rank_scale : "cluster" gives the best tag of every class the same rank; "none" is published.
    delta : added to both weights of the recall of a tag.
    mu : share of tags in all documents that every class has, for "soft".
    beta : weight of words against classes, for "mix".
    length : "exposure" scales rates with the length of a document, "raw" is published.
    graph : weight of tags against words, see `scales`; choose : which cluster is cut next.
    low_rank : singular triplets of the graph, the trivial one included, that all clusters are cut from, the literal
        step 5 of the paper; None cuts each from its edges. `captured_` is the share of the squared norm that they have.
    start : where components of a mixture begin, at "random" or by "kmeans" on the spectral coordinates of documents.
    prior : of classes, "uniform" as published or "empirical".

    Examples
    --------
    >>> X = [[3.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 4.0]]
    >>> model = PMM(scoring="soft").fit(X, [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> model.n_classes_
    1
    """

    _arrays = (
        "rates_",
        "component_shares_",
        "mass_",
        "word_clusters_",
        "used_words_",
        "class_starts_",
        "class_sizes_",
        "splits_",
        "tag_classes_",
        "log_ranks_",
        "class_tag_starts_",
        "class_tag_ids_",
        "class_tag_shares_",
        "popular_",
        "idf_",
        "entry_starts_",
        "entry_classes_",
        "posting_starts_",
        "posting_rows_",
        "posting_weights_",
        "row_tag_starts_",
        "row_tag_ids_",
        "word_tag_starts_",
        "word_tag_ids_",
        "word_tag_weights_",
        *growing.STATISTICS,
    )
    _facts = ("mean_length_", "n_classes_", "n_documents_", "captured_")
    wanted_features = MappingProxyType({"use_idf": False, "norm": None})  # counts
    _rounds = ("max_iter",)
    _limits = limits(
        n_classes=Whole(1, 100_000, none=True),
        n_components=Whole(none=True),
        n_word_clusters=Whole(1, MOST_WORD_CLUSTERS),
        n_words=Whole(none=True),
        scoring=Choice("rerank", "soft", "hard", "mix"),
        n_searched=Whole(),
        n_neighbors=Whole(),
        power=Real(least=0),
        temper=Real(above=0, most=1),
        rank_scale=Choice(*SCALES),
        delta=POSITIVE,
        mu=Real(least=0, most=1),
        beta=Real(least=0, most=1),
        length=Choice(*LENGTHS),
        graph=Choice(*POLICIES),
        choose=Choice(*CHOICES),
        low_rank=Whole(least=2, none=True),
        start=Choice(*STARTS),
        prior=Choice("uniform", "empirical"),
        max_iter=ROUNDS,
        tol=Real(least=0),
        n_shards=Whole(1, 100_000),
        random_state=SEED,
    )

    rates_: np.ndarray  # λ, components × word clusters
    component_shares_: np.ndarray  # π
    mass_: np.ndarray  # Λ of every component
    word_clusters_: np.ndarray  # words × classes
    used_words_: np.ndarray  # 1 for a word that the mixture looks at, 0 for others
    class_starts_: np.ndarray  # of the components of each class
    class_sizes_: np.ndarray  # documents
    splits_: np.ndarray  # (parent, child, documents of each, Ncut, σ₂) of every cut
    tag_classes_: np.ndarray  # n_classes_ where a tag has none
    log_ranks_: np.ndarray  # of every tag in its class; UNRANKED where it has none
    class_tag_starts_: np.ndarray  # f(tag | class), CSR
    class_tag_ids_: np.ndarray
    class_tag_shares_: np.ndarray
    popular_: np.ndarray  # shares of documents, the answer to a document like no other
    idf_: np.ndarray
    mean_length_: float
    n_classes_: int
    n_documents_: int
    captured_: float  # share of the squared norm of the graph that its cuts see; 1 where they see the edges

    def __init__(
        self,
        n_classes: int | None = None,
        n_components: int | None = None,
        n_word_clusters: int = 30,
        n_words: int | None = None,
        scoring: str = "rerank",
        n_searched: int = 7,
        n_neighbors: int = 50,
        power: float = 2.0,
        temper: float = 0.1,
        rank_scale: str = "cluster",
        delta: float = 1.0,
        mu: float = 0.0,
        beta: float = 0.9,
        length: str = "exposure",
        graph: str = "balanced",
        choose: str = "largest",
        low_rank: int | None = None,
        start: str = "random",
        prior: str = "uniform",
        max_iter: int = 30,
        tol: float = 1e-5,
        n_shards: int = 8,
        random_state: int = 0,
    ) -> None:
        self.n_classes = n_classes
        self.n_components = n_components
        self.n_word_clusters = n_word_clusters
        self.n_words = n_words
        self.scoring = scoring
        self.n_searched = n_searched
        self.n_neighbors = n_neighbors
        self.power = power
        self.temper = temper
        self.rank_scale = rank_scale
        self.delta = delta
        self.mu = mu
        self.beta = beta
        self.length = length
        self.graph = graph
        self.choose = choose
        self.low_rank = low_rank
        self.start = start
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_shards = n_shards
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    @classmethod
    def published(cls, **changes: object) -> Self:
        """The paper to the letter: 30 classes, 40 components, ranks that are not scaled, likelihoods as they are."""
        settings: dict = {
            "n_classes": 30,
            "n_components": 40,
            "n_word_clusters": 30,
            "scoring": "hard",
            "temper": 1.0,
            "rank_scale": "none",
            "length": "raw",
            "graph": "raw",
        }
        return cls(**(settings | changes))

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Adds documents to the classes that the last full fit cut, each to its most probable one; the first call is a
        full fit."""
        if not hasattr(self, "rates_"):
            return self.fit(X, y)
        self._check_params()
        with restore_on_failure(self):
            growing.add_documents(self, *self._checked_batch(X, y))
        return self

    def grow(self, words: int, tags: int) -> Self:
        """Makes room for words and tags that were appended since; no class has seen them."""
        growing.grow(self, words, tags)
        return self

    def class_posterior(self, X: object) -> np.ndarray:
        """P(class | document), rows × classes."""
        return np.exp(scoring.log_posterior(self, self._checked(X)))

    def proba(self, scores: np.ndarray) -> np.ndarray:
        return np.exp(np.minimum(scores, 0.0)) if self.scoring == "hard" else np.clip(scores, 0.0, 1.0)

    def _fit(self, rows: Rows, context: FitContext) -> None:
        learning.require_room(self, rows)
        seed = int(check_random_state(self.random_state).randint(2**31))
        shards = learning.edge_shards(rows, self.n_shards, context.executor)
        seen = learning.survey(shards, rows.n_labels)
        self.mean_length_ = float(seen["words"] / seen["worded"]) if seen["worded"] else 1.0
        topics, thin = learning.find_topics(self, rows, shards, seed, context)
        self.captured_ = thin.captured if thin and self.low_rank else 1.0
        counts = learning.class_taggings(shards, topics)
        used = learning.words_to_use(shards, topics, self.n_words)
        self.used_words_ = used.astype(np.int8)
        del shards  # the mixture reads its documents class by class
        learnt = learning.learn_mixture(self, rows, topics, thin, used, self.mean_length_, seed, context)
        self.n_classes_ = topics.n_clusters
        self.rates_, self.component_shares_, self.mass_ = learnt["rates"], learnt["shares"], learnt["mass"]
        self.word_clusters_, self.class_starts_ = learnt["word_clusters"], learnt["class_starts"]
        self.class_sizes_ = np.bincount(topics.documents[topics.documents >= 0], minlength=self.n_classes_)
        cuts = [(s.parent, s.child, *s.documents, s.ncut, s.sigma) for s in topics.splits]
        self.splits_ = np.array(cuts, np.float64).reshape(-1, 6)
        growing.keep_statistics(self, learnt, counts, seen, rows.n_rows)
        growing.keep_ranks(self, counts, topics.tags)
        self.popular_ = seen["tag_documents"] / max(rows.n_rows, 1)
        self.idf_ = learning.idf_of(seen["word_documents"], rows.n_rows)
        # what neighbours and words are looked up in is made of all rows, and as large
        X, Y = load_all(rows if self.scoring in ("rerank", "mix") else rows.select(np.arange(0)))
        index = document_index(X, Y, topics.documents, self.idf_, self.scoring == "rerank")
        self.entry_starts_, self.entry_classes_, self.posting_starts_ = index[:3]
        self.posting_rows_, self.posting_weights_, self.row_tag_starts_, self.row_tag_ids_ = index[3:]
        table = word_tag_table(X, Y, self.scoring == "mix")
        self.word_tag_starts_, self.word_tag_ids_ = table.indptr.astype(np.int64), table.indices.astype(np.int32)
        self.word_tag_weights_ = table.data.astype(np.float32)

    def _check_state(self) -> None:
        n, p, classes = self.n_labels_, self.n_features_in_, self.n_classes_
        components = self.component_shares_.size
        tiny = np.finfo(np.float64).tiny
        if not isinstance(classes, int) or classes < 1:
            raise ValueError(f"n_classes_ must be at least 1, got {classes!r}")
        if not isinstance(self.mean_length_, float) or not tiny <= self.mean_length_ < np.inf:
            raise ValueError(f"mean_length_ must be positive, got {self.mean_length_!r}")
        if not isinstance(self.captured_, float) or not 0 <= self.captured_ <= 1:
            raise ValueError(f"captured_ must be a share, got {self.captured_!r}")
        require_array(self.component_shares_, (components,), np.float64, "component_shares_", tiny, 1)
        require_array(self.mass_, (components,), np.float64, "mass_", 0)
        require_array(self.rates_, (components, self.n_word_clusters), np.float64, "rates_", tiny)
        require_array(self.word_clusters_, (p, classes), CLUSTER_IDS, "word_clusters_", 0, self.n_word_clusters - 1)
        require_array(self.used_words_, (p,), np.int8, "used_words_", 0, 1)
        require_array(self.class_starts_, (classes + 1,), np.int64, "class_starts_", 0, components)
        starts = self.class_starts_
        if starts[0] != 0 or starts[-1] != components or (np.diff(starts) < 1).any():
            raise ValueError(f"class_starts_ must part {components} components among {classes} classes")
        require_array(self.class_sizes_, (classes,), np.int64, "class_sizes_", 0, MOST_IDS)
        require_array(self.splits_, (classes - 1, 6), np.float64, "splits_")
        require_array(self.tag_classes_, (n,), np.int64, "tag_classes_", 0, classes)
        require_array(self.log_ranks_, (n,), np.float64, "log_ranks_", UNRANKED, 0)
        require_array(self.popular_, (n,), np.float64, "popular_", 0, 1)
        require_array(self.idf_, (p,), np.float32, "idf_", 0)
        shares = (self.class_tag_starts_, self.class_tag_ids_, self.class_tag_shares_)
        require_csr(*shares, classes, n, "the tags of classes")
        growing.check_statistics(self, p, n)
        self._check_index(p, n, classes)

    def _check_index(self, p: int, n: int, classes: int) -> None:
        """Raises ValueError where the index of documents or the table of words does not fit, or is missing."""
        rows, entries, table = self.row_tag_starts_.size - 1, self.entry_classes_.size, self.word_tag_starts_.size - 1
        if rows != (int(self.class_sizes_.sum()) if self.scoring == "rerank" else 0):
            raise ValueError(f"the index holds {rows} documents, the classes {self.class_sizes_.sum()}")
        require_lists(self.entry_starts_, self.entry_classes_, p, classes, "the index")
        require_csr(self.posting_starts_, self.posting_rows_, self.posting_weights_, entries, rows, "the postings")
        owners = np.repeat(np.arange(classes), self.class_sizes_ if rows else 0)
        if (owners[self.posting_rows_] != np.repeat(self.entry_classes_, np.diff(self.posting_starts_))).any():
            raise ValueError("the postings of an entry must be documents of its class")
        require_lists(self.row_tag_starts_, self.row_tag_ids_, rows, n, "the tags of documents")
        if table != (p if self.scoring == "mix" else 0):
            raise ValueError(f"the table of words has {table} rows, expected {p if self.scoring == 'mix' else 0}")
        require_csr(self.word_tag_starts_, self.word_tag_ids_, self.word_tag_weights_, table, n, "the table of words")

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        return scoring.all_scores(self, X)

    def _top_k(self, X: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        best = scoring.best_tags_of_rows(self, X, k)
        return super()._top_k(X, k) if best is None else best
