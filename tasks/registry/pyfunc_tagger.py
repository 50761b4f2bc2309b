"""The served tagger, as code: MLflow stores this file beside the tagger's folder, and no pickle.

Input: a column `text`. Output: for each text, `tags` best first and their `scores`. Parameter: `k`, how many.
"""

from typing import Any

import mlflow
import pandas as pd
from mlflow.pyfunc import PythonModel, PythonModelContext

from tagcore.tagger import Tagger


class SuggestTags(PythonModel):
    def load_context(self, context: PythonModelContext) -> None:
        self.tagger = Tagger.load(context.artifacts["tagger"])

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        texts = model_input["text"].fillna("").astype(str).tolist()
        suggested = self.tagger.suggest(texts, k=int((params or {}).get("k", 5)))
        return pd.DataFrame(
            {
                "tags": [[s.tag for s in suggestions] for suggestions in suggested],
                "scores": [[s.score for s in suggestions] for suggestions in suggested],
            }
        )


mlflow.models.set_model(SuggestTags())
