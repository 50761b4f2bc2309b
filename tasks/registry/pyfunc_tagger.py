"""The served tagger, as code: MLflow stores this file beside the tagger's folder, and no pickle.

Input: a column `text`, or one for each field that the tagger reads. Output: for each row, `tags` best first and their
`scores`. Parameter: `k`, how many.
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
        texts = _documents(model_input, self.tagger.fields)
        suggested = self.tagger.suggest(texts, k=int((params or {}).get("k", 5)))
        return pd.DataFrame(
            {
                "tags": [[s.tag for s in suggestions] for suggestions in suggested],
                "scores": [[s.score for s in suggestions] for suggestions in suggested],
            }
        )


def _documents(table: pd.DataFrame, fields: tuple[str, ...]) -> list[Any]:
    """Texts where that is the only column, else the fields of every row."""
    given = [name for name in fields if name in table.columns]
    columns = {name: table[name].fillna("").astype(str).tolist() for name in given or ["text"]}
    if list(columns) == ["text"]:
        return columns["text"]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


mlflow.models.set_model(SuggestTags())
