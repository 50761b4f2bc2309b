"""Faults in the published models and the baselines."""

from tests.mutants.fault import Fault

_BOMC = "tests/tagcore/models/bomc"
_BMLPL = "tests/tagcore/models/bmlpl"
_BASELINES = "tests/tagcore/baselines"
_KERNEL = "tagcore/models/bomc/kernel.py"
_PMM = "tests/tagcore/models/pmm"
_PMM_KERNEL = "tagcore/models/pmm/kernel.py"
_BLEND = "tests/tagcore/models/blend"
_BLEND_ESTIMATOR = "tagcore/models/blend/estimator.py"
_GRAPH = "tests/tagcore/graph"
_TAGICOFI = "tests/tagcore/models/tagicofi"
_GROWING = "tagcore/models/pmm/growing.py"
_GP = "tests/tagcore/baselines/gaussian_process"

_SGPS = "tests/tagcore/models/sgps"

MODELS = (
    Fault(
        "the curvature of a row's likelihood without its off-diagonal",
        "tagcore/models/sgps/softmax.py",
        '    T -= np.einsum("nc,nc->n", P, T)[:, None]\n',
        "",
        f"{_SGPS}/test_evidence.py",
    ),
    Fault(
        "the evidence's slope without what the mode itself moves",
        "tagcore/models/sgps/evidence.py",
        "left = R - 0.5 * g + 0.5 * B",
        "left = R - 0.5 * g",
        f"{_SGPS}/test_evidence.py",
    ),
    Fault(
        "a slope through the factor with its diagonal counted twice",
        "tagcore/models/sgps/evidence.py",
        "    lower[np.diag_indices_from(lower)] *= 0.5\n",
        "",
        f"{_SGPS}/test_evidence.py",
    ),
    Fault(
        "prototypes of other classes pulled instead of pushed",
        "tagcore/models/sgps/descent.py",
        "P * (losses[:, None] - other)",
        "P * (losses[:, None] + other)",
        f"{_SGPS}/test_prototypes.py",
    ),
    Fault(
        "variance without what the prototypes leave open",
        "tagcore/models/sgps/posterior.py",
        "covariances = covariances + left[:, None] * squares",
        "covariances = covariances + 0.0 * squares",
        f"{_SGPS}/test_estimator.py",
    ),
    Fault(
        "the gradient of Newton's method from latents before the last step",
        "tagcore/models/sgps/mode.py",
        'return {"F": state["F"] + length * state["D"]}, {}',
        'return {"F": state["F"]}, {}',
        f"{_SGPS}/test_mode.py",
    ),
    Fault(
        "a search whose first step is as long as its slope is steep",
        "tagcore/numeric/scale_search.py",
        "steepness = max(float(np.linalg.norm(first[1])), 1e-300)",
        "steepness = 1.0",
        "tests/tagcore/numeric/test_scale_search.py",
    ),
    Fault(
        "length scales and amplitude sought together from the start",
        "tagcore/numeric/scale_search.py",
        "if n_lengths > 1:",
        "if n_lengths > 1000:",
        f"{_GP}/test_vbgp.py",
    ),
    Fault(
        "scores of a linear machine as they are, without their sharpness",
        "tagcore/models/mmsg/category_svm.py",
        "return probabilities(self.sharpness_ * _scores(",
        "return probabilities(_scores(",
        "tests/tagcore/models/mmsg/test_category_svm.py",
    ),
    Fault(
        "a category's shares without the weight of a document's tags",
        "tagcore/models/mmsg/categories.py",
        'if weights == "documents":',
        'if weights == "counts":',
        "tests/tagcore/models/mmsg/test_categories.py",
    ),
    Fault(
        "members of a blend see the fold that they score",
        _BLEND_ESTIMATOR,
        "np.flatnonzero(folds != fold)",
        "np.flatnonzero(folds >= NEVER)",
        _BLEND,
    ),
    Fault(
        "the combiner learns from the guard's documents before they judge it",
        _BLEND_ESTIMATOR,
        "fit_combiner(pairs.of_rows(~guard), n_members",
        "fit_combiner(pairs, n_members",
        _BLEND,
    ),
    Fault(
        "the guard prefers the worse",
        _BLEND_ESTIMATOR,
        "if self.guard_[0] > self.guard_[1 + best] else best",
        "if self.guard_[0] < self.guard_[1 + best] else best",
        _BLEND,
    ),
    Fault(
        "frequencies of tags count the held-out documents",
        _BLEND_ESTIMATOR,
        "counts = TagCounts.of(Y[seen])",
        "counts = TagCounts.of(Y)",
        _BLEND,
    ),
    Fault(
        "a tag is seen beside itself",
        "tagcore/models/blend/kernel.py",
        "        if other == tag:\n            continue\n",
        "",
        _BLEND,
    ),
    Fault(
        "skew margins from all rows instead of those that could have the tag",
        _KERNEL,
        "            for tag in range(tree[0][group], tree[0][group + 1]):\n                exposures[tag] += 1\n",
        "            for tag in range(exposures.size):\n                exposures[tag] += 1\n",
        _BOMC,
    ),
    Fault(
        "multi-class update without its variance",
        _KERNEL,
        "(T / P - m[k]) / v[k], (1.0 - 1.0 / (P * v[k])) / v[k]",
        "(T / P - m[k]) / v[k], 0.0",
        _BOMC,
    ),
    Fault(
        "a weight's mean moves against its message",
        _KERNEL,
        "            mu[c] += x * old * g[c]\n",
        "            mu[c] -= x * old * g[c]\n",
        _BOMC,
    ),
    Fault(
        "a weight's variance shrinks by x instead of its square",
        _KERNEL,
        "old * (one - square * old * h[c])",
        "old * (one - x * old * h[c])",
        _BOMC,
    ),
    Fault(
        "the cavity of a class keeps its own message",
        _KERNEL,
        """    for c in range(m.size):
        vb = 1.0 / (P - pi[c])
        mb = (T - tau[c]) * vb
        vd = v[c] + vb
        sd = math.sqrt(vd)
        den""",
        """    for c in range(m.size):
        vb = 1.0 / P
        mb = (T - tau[c]) * vb
        vd = v[c] + vb
        sd = math.sqrt(vd)
        den""",
        f"{_BOMC}/test_kernel.py",
    ),
    Fault(
        "independent biases move the wrong way",
        _KERNEL,
        "        bias_mean[c] -= bias_variance[c] * g[c]\n",
        "        bias_mean[c] += bias_variance[c] * g[c]\n",
        f"{_BOMC}/test_kernel.py",
    ),
    Fault(
        "standard scores without the noise",
        _KERNEL,
        "math.sqrt(bias_variance[c] + v[c] + noise)",
        "math.sqrt(bias_variance[c] + v[c])",
        _BOMC,
    ),
    Fault(
        "drift beyond the prior variance",
        _KERNEL,
        "            row[c] = min(cap, row[c] + grown)\n",
        "            row[c] = row[c] + grown\n",
        _BOMC,
    ),
    Fault(
        "shards count the hub's prior once each",
        "tagcore/models/bomc/shards.py",
        "    return 1.0 / after[1] - 1.0 / before[1], after[0] / after[1] - before[0] / before[1]\n",
        "    return 1.0 / after[1], after[0] / after[1]\n",
        f"{_BOMC}/test_shards.py",
    ),
    Fault(
        "tau without the posterior variance of the weights",
        "tagcore/models/bmlpl/hyper.py",
        "(W.astype(np.float64) ** 2 + 1.0 / (curvature + tau[:, None]))",
        "(W.astype(np.float64) ** 2)",
        _BMLPL,
    ),
    Fault(
        "online EM without N / |B|",
        "tagcore/models/bmlpl/online.py",
        '        share = gamma * self.n_rows / float(sums["rows"])\n',
        "        share = gamma\n",
        _BMLPL,
    ),
    Fault(
        "online EM whose averages do not fade",
        "tagcore/models/bmlpl/online.py",
        "W.dtype.type(1 - gamma) * arrays[name]",
        "arrays[name]",
        _BMLPL,
    ),
    Fault(
        "documents of early stopping are also learnt from",
        "tagcore/models/bmlpl/learning.py",
        "rows, mask = rows.select(training), None if mask is None else mask[training]",
        "rows, mask = rows, mask",
        _BMLPL,
    ),
    Fault(
        "topics without their Dirichlet prior",
        "tagcore/models/bmlpl/em.py",
        "    V = counts + counts.dtype.type(eta)\n",
        "    V = counts + counts.dtype.type(1e-9)\n",
        f"{_BMLPL}/test_em.py",
    ),
    Fault(
        "the weights' prior is missing in the M-step",
        "tagcore/models/bmlpl/em.py",
        '        residual = sums["gradient"] - precision * W\n',
        '        residual = sums["gradient"]\n',
        f"{_BMLPL}/test_em.py",
    ),
    Fault(
        "a Newton step of r without its prior",
        "tagcore/models/bmlpl/hyper.py",
        'sums["slope"] - sums["softplus"] + (_R_SHAPE - 1) / r - _R_RATE',
        'sums["slope"] + (_R_SHAPE - 1) / r - _R_RATE',
        _BMLPL,
    ),
    Fault(
        "Lanczos without orthogonality to earlier vectors",
        "tagcore/graph/lanczos.py",
        "        w = _orthogonal(w, basis[: j + 2].T)\n",
        "        w = w - alpha[j] * v - (beta[j - 1] * basis[j] if j else 0.0)\n",
        f"{_GRAPH}/test_lanczos.py",
    ),
    Fault(
        "products over shards without the degrees of documents",
        "tagcore/graph/shard_kernel.py",
        "        total /= degrees[i]\n",
        "        total /= 1.0\n",
        f"{_GRAPH}/test_clusters.py",
    ),
    Fault(
        "edges of columns that have left count in a cut",
        "tagcore/graph/shard_kernel.py",
        "            weight = weights[q] * scale[ids[q]]\n            total += weight\n",
        "            weight = weights[q]\n            total += weight\n",
        f"{_GRAPH}/test_clusters.py",
    ),
    Fault(
        "components of a graph found in one shard alone",
        "tagcore/graph/halving.py",
        "for found in self.shards.collect(joined_columns, scale=self.scale)]",
        "for found in self.shards.collect(joined_columns, scale=self.scale)[:1]]",
        f"{_GRAPH}/test_clusters.py",
    ),
    Fault(
        "columns without weight in their cluster are not repaired",
        "tagcore/graph/clusters.py",
        "    repaired[lost] = weights.argmax(axis=0)\n",
        "    repaired[lost] = columns[lost]\n",
        f"{_GRAPH}/test_clusters.py",
    ),
    Fault(
        "recall of a tag without what leaves its cluster",
        "tagcore/graph/node_ranks.py",
        "    recall = (totals + delta) / (totals - inside + delta)\n",
        "    recall = (totals + delta) / (inside + delta)\n",
        f"{_GRAPH}/test_node_ranks.py",
    ),
    Fault(
        "low-rank clusters normalised by one side alone",
        "tagcore/graph/low_rank.py",
        "for f, degrees in ((left, d), (right, e)))",
        "for f, degrees in ((left, d), (right, np.ones(e.size))))",
        f"{_GRAPH}/test_low_rank.py",
    ),
    Fault(
        "low-rank cuts without their singular values",
        "tagcore/graph/low_rank.py",
        "np.linalg.svd((R1 * sigma) @ R2.T)",
        "np.linalg.svd(R1 @ R2.T)",
        f"{_GRAPH}/test_low_rank.py",
    ),
    Fault(
        "centres of k-means that never move",
        "tagcore/models/pmm/starts.py",
        "            centres[c] = points[found == c].mean(axis=0)\n",
        "            centres[c] = centres[c]\n",
        f"{_PMM}/test_starts.py",
    ),
    Fault(
        "an empty component that begins again from the documents explained best",
        "tagcore/models/pmm/mixture.py",
        "np.argsort(fit[free], kind=",
        "np.argsort(-fit[free], kind=",
        f"{_PMM}/test_mixture.py",
    ),
    Fault(
        "rates of a mixture without their prior",
        _PMM_KERNEL,
        "(total[m, c] + a) / (sizes[c] * exposed[components[k] + m] + b)",
        "(total[m, c] + 1e-9) / (sizes[c] * exposed[components[k] + m] + 1e-9)",
        _PMM,
    ),
    Fault(
        "words move to the cluster that explains them worst",
        _PMM_KERNEL,
        "            if value > best_value + 1e-12 * abs(best_value):\n",
        "            if value < best_value - 1e-12 * abs(best_value):\n",
        f"{_PMM}/test_mixture.py",
    ),
    Fault(
        "the likelihood of a document without the mass of a component",
        _PMM_KERNEL,
        "p[m] = log_shares[first + m] - exposure[i] * mass[first + m]",
        "p[m] = log_shares[first + m]",
        _PMM,
    ),
    Fault(
        "a view of features weighed as the first",
        "tagcore/text/vectoriser.py",
        "        return [view._rows(sequences) for view in views]\n",
        "        return [self._rows(sequences) for view in views]\n",
        "tests/tagcore/features/test_build.py -k views",
    ),
    Fault(
        "a night's words replace those of the classes",
        _GROWING,
        "        counts[blocks[k] : blocks[k + 1]] += own.toarray().T.ravel()\n",
        "        counts[blocks[k] : blocks[k + 1]] += 0.0\n",
        f"{_PMM}/test_growing.py",
    ),
    Fault(
        "words that are appended have no mass",
        _GROWING,
        "    model.mass_ = model.mass_ + (new_words if joins else 0) * unseen\n",
        "    model.mass_ = model.mass_ + 0.0 * unseen\n",
        f"{_PMM}/test_growing.py",
    ),
    Fault(
        "new documents stand before those of their class",
        _GROWING,
        '    labels = np.concatenate([old, classes[kept]])\n    order = np.argsort(labels, kind="stable")\n',
        "    labels = np.concatenate([old, classes[kept]])\n    order = np.arange(labels.size)\n",
        f"{_PMM}/test_growing.py",
    ),
    Fault(
        "a calibrator fitted on rows that its model learnt from",
        "tagcore/fitting.py",
        "            rows.select(np.flatnonzero(~held_out)),\n",
        "            rows,\n",
        "tests/tagcore/test_fitting.py",
    ),
    Fault(
        "the mode of a Laplace approximation stands still while its covariance moves",
        "tagcore/baselines/gaussian_process/laplace.py",
        "    return weights + 0.5 * (moved + moved.T)\n",
        "    return weights\n",
        f"{_GP}/test_laplace.py",
    ),
    Fault(
        "the determinant of a Laplace approximation without the classes' common part",
        "tagcore/baselines/gaussian_process/laplace.py",
        "log_det + 2.0 * np.log(np.diag(factor)).sum())",
        "log_det)",
        f"{_GP}/test_laplace.py",
    ),
    Fault(
        "a filtered row keeps the mean of its cavity",
        "tagcore/baselines/gaussian_process/adf.py",
        "mean[i] + slope[i] / curve[i], precision",
        "slope[i] / curve[i], precision",
        f"{_GP}/test_ivm.py",
    ),
    Fault(
        "the variational bound forgets the covariance of latent values",
        "tagcore/baselines/gaussian_process/bound.py",
        "- 0.5 * shape[1] * log_det)",
        "- 0.0 * log_det)",
        f"{_GP}/test_vbgp.py",
    ),
    Fault(
        "columns are scaled by the held-out rows, too",
        "tagcore/features/class_split.py",
        "    scaling = Scaling.of(X[learnt])\n",
        "    scaling = Scaling.of(X)\n",
        "tests/tagcore/features/test_class_split.py",
    ),
    Fault(
        "descent towards what neighbours are not",
        "tagcore/models/tagicofi/descent_kernel.py",
        "                rough[d] -= strength * other[d]\n",
        "                rough[d] += strength * other[d]\n",
        f"{_TAGICOFI}/test_descent.py",
    ),
    Fault(
        "a residual that is not updated between dimensions",
        "tagcore/models/tagicofi/descent_kernel.py",
        "            if sequential:\n",
        "            if False:\n",
        f"{_TAGICOFI}/test_descent.py",
    ),
    Fault(
        "conjugate gradients without the neighbours",
        "tagcore/models/tagicofi/solve_kernel.py",
        "            image[i, c] = total - neighbours[c]\n",
        "            image[i, c] = total\n",
        f"{_TAGICOFI}/test_alternation.py",
    ),
    Fault(
        "someone new among neighbours as strong as before they were scaled",
        "tagcore/graph/similarity.py",
        "_inverse_root(_row_sums(links))[_row_numbers(links)] * _inverse_root(degrees)[links.indices]",
        "_inverse_root(_row_sums(links))[_row_numbers(links)]",
        "tests/tagcore/graph/test_similarity.py -k asks_again",
    ),
    Fault(
        "those who share no tag but a frequent one are linked",
        "tagcore/graph/similarity_kernel.py",
        "> most_rows:\n                continue\n",
        "> most_rows:\n                pass\n",
        "tests/tagcore/graph/test_similarity.py -k left_out",
    ),
    Fault(
        "a graph in which only one of two chose the other",
        "tagcore/graph/similarity.py",
        "        links = links.maximum(links.T.tocsr()).tocsr()\n",
        "        links = links.tocsr()\n",
        "tests/tagcore/graph/test_similarity.py -k symmetric",
    ),
    Fault(
        "a new rating beside the old one",
        "tagcore/models/tagicofi/growing.py",
        "    kept = ~np.isin(before, after)\n",
        "    kept = np.ones(before.size, bool)\n",
        f"{_TAGICOFI}/test_growing.py",
    ),
    Fault(
        "the control that shuffles nothing",
        "tagcore/models/tagicofi/controls.py",
        ".permutation(counts.shape[0])]\n",
        ".permutation(counts.shape[0]) * 0 + np.arange(counts.shape[0])]\n",
        f"{_TAGICOFI}/test_estimator.py -k control",
    ),
    Fault(
        "what was seen is recommended again",
        "tagcore/models/tagicofi/score_kernel.py",
        "                    part[rated[at] - first] = -np.inf\n",
        "                    part[rated[at] - first] += 0.0\n",
        "tests/tagcore/test_rating_model.py -k TagiCoFi",
    ),
)
