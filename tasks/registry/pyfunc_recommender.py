"""The served recommender, as code: MLflow stores this file beside the recommender's folder, and no pickle.

Input: a column `user`. Output: for each user, `items` best first and their `scores`. Parameter: `k`, how many. A user
whom the model does not know gets what it falls back on.
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
        users = model_input["user"].fillna("").astype(str).tolist()
        recommended = self.recommender.recommend_all(users, k=int((params or {}).get("k", 5)))
        return pd.DataFrame(
            {
                "items": [[r.item for r in of_user] for of_user in recommended],
                "scores": [[r.score for r in of_user] for of_user in recommended],
            }
        )


mlflow.models.set_model(RecommendItems())
