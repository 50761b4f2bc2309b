"""The served recommender, as code: MLflow stores this file beside the recommender's folder, and no pickle.

Input: a column `user`, and perhaps one `tags`, where someone unknown tells some between commas. Output: for each row,
`items` best first, their `scores` and `titles` (names where there are none). Parameter: `k`, how many. A user whom the
model does not know, and who tells no tag that it knows, gets what it falls back on.
"""

from typing import Any

import mlflow
import pandas as pd
from mlflow.pyfunc import PythonModel, PythonModelContext

from tagcore.recommender import Recommender


class RecommendItems(PythonModel):
    def load_context(self, context: PythonModelContext) -> None:
        self.recommender = Recommender.load(context.artifacts["recommender"])

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        k, given = int((params or {}).get("k", 5)), model_input.columns
        users = model_input["user"].fillna("").astype(str).tolist()
        tags = model_input["tags"].fillna("").astype(str).tolist() if "tags" in given else [""] * len(users)
        recommended = self.recommender.recommend_all(users, k)
        for row, told in enumerate(tags if self.recommender.takes_tags else ()):
            wanted = [tag for tag in told.split(",") if tag.strip()]
            if len(wanted) > len(self.recommender.unknown_tags(wanted)) and not self.recommender.knows(users[row]):
                recommended[row] = self.recommender.recommend_for_tags(wanted, k)
        return pd.DataFrame(
            {
                "items": [[r.item for r in of_user] for of_user in recommended],
                "scores": [[r.score for r in of_user] for of_user in recommended],
                "titles": [[r.told for r in of_user] for of_user in recommended],
            }
        )


mlflow.models.set_model(RecommendItems())
