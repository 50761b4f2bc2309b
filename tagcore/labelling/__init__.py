"""From scores to labels: rules, thresholds, and the labels of greatest expected F."""
