"""Texts that are hard to tokenise, for hypothesis."""

from hypothesis import strategies as st

# Σ folds by its neighbours, İ to two characters, K and Ⱥ to fewer and more bytes, 𠀀 and 🙂 lie beyond the first plane,
# the combining dot and ZWJ are no word characters, ½ and ٣ are, as is the underscore
ODD = "aAbBzZ09_ \t\n.,'-ΣσςİıKȺßéÉñÑщЩ中文½٣̇\u200d\u00a0\x00🙂𠀀𐐀ﬁǅ"

texts = st.text(alphabet=st.sampled_from(ODD), max_size=40) | st.text(max_size=30)
# few letters, so that words repeat within and across documents
wordy = st.lists(st.text(alphabet="abΣé", min_size=1, max_size=3), max_size=12).map(" ".join)
documents = st.lists(wordy, min_size=1, max_size=12)
