"""The published models, one package each, and a blend of them with others; what a model is: `tagcore/tag_model.py`.

A new one is a folder here, and its name in the import and in `__all__` below, from which `tagcore.on_demand` learns
what there is; of ratings, see `tagcore/rating_model.py`.
"""

from typing import TYPE_CHECKING

from tagcore.on_demand import names_on_demand

if TYPE_CHECKING:
    from tagcore.models.blend.estimator import Blend
    from tagcore.models.bmlpl.estimator import BMLPL
    from tagcore.models.bomc.estimator import BOMC
    from tagcore.models.mmsg.category_svm import CategorySVM
    from tagcore.models.mmsg.estimator import MMSG
    from tagcore.models.pmm.estimator import PMM
    from tagcore.models.sgps.estimator import SGPS
    from tagcore.models.tagicofi.controls import PMF, ShuffledTagiCoFi
    from tagcore.models.tagicofi.estimator import TagiCoFi

__all__ = ["BMLPL", "BOMC", "MMSG", "PMF", "PMM", "SGPS", "Blend", "CategorySVM", "ShuffledTagiCoFi", "TagiCoFi"]

__getattr__ = names_on_demand(__name__, __file__)
