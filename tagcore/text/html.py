"""The visible text of HTML."""

import re
from collections import Counter

from selectolax.lexbor import LexborHTMLParser

LIMIT = 10_000_000  # characters of one text: beyond it a file is data, not a document

_MARKUP = re.compile(r"<[a-zA-Z/!?]|&(?:#|[a-zA-Z])")
# what makes HTML of a title: an end tag, a comment, an attribute, or an element that says something without an end tag
_TITLE_MARKUP = re.compile(r"</[a-z]|<!--|<[a-z][^<>]*=|<(?:br|hr|wbr|p|li)[\s/>]", re.IGNORECASE)
_OPENING = re.compile(r"<(?=[a-zA-Z!?])")
_HIDDEN = "script, style, template, [hidden]"
# what starts a new line on screen, or stands apart in a table or a list
_BLOCK = re.compile(
    r"<(?=/?(?:address|article|aside|audio|blockquote|body|br|button|canvas|caption|center|dd|details|dialog|dir|div"
    r"|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|head|header|hgroup|hr|iframe|img|input|legend|li|main|menu"
    r"|nav|noscript|object|ol|optgroup|option|p|pre|search|section|select|summary|svg|table|tbody|td|textarea|tfoot"
    r"|th|thead|title|tr|ul|video)[\s/>])",
    re.IGNORECASE,
)

# Every tag may cost an HTML5 parser a walk over all open elements, or a copy of them: deep nesting is quadratic.
_WORK = 5_000_000  # open elements, summed over all tags
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_SELF_CLOSING = re.compile(
    r"area|base|body|br|col|colgroup|dd|dt|embed|head|hr|html|img|input|li|link|meta|optgroup|option|p|param|rp|rt"
    r"|source|tbody|td|tfoot|th|thead|tr|track|wbr"
)


def strip_html(text: str, limit: int = LIMIT) -> str:
    """Gives text as a reader sees it, whitespace run together; what holds no markup is returned unchanged."""
    if len(text) > limit:
        raise ValueError(f"HTML of {len(text)} characters, expected at most {limit}")
    if not _MARKUP.search(text):
        return text
    check_nesting(text)
    tree = LexborHTMLParser(_BLOCK.sub(" <", text))
    for node in tree.css(_HIDDEN):
        node.remove()
    return " ".join(tree.text().split())


def strip_html_of_title(title: str, limit: int = LIMIT) -> str:
    """Gives a title as a reader sees it. One that holds elements without an end, such as "How to centre a <div>?", is
    no HTML but speaks of it: they stay, and entities alone are read."""
    if _TITLE_MARKUP.search(title):
        return strip_html(title, limit)
    return strip_html(_OPENING.sub("&lt;", title), limit + 3 * title.count("<"))


def check_nesting(text: str) -> None:
    """Raises ValueError where elements nest so deeply that a parser would take for ever."""
    if text.count("<") ** 2 < 2 * _WORK:
        return  # too few tags to matter, however they nest
    open_by_name: Counter[str] = Counter()
    n_open = work = 0
    for tag in _TAG.finditer(text):
        closes, name = tag[1], tag[2].lower()
        if not _SELF_CLOSING.fullmatch(name):
            step = 1 if not closes else -1 if open_by_name[name] else 0
            open_by_name[name] += step
            n_open += step
        work += n_open
        if work > _WORK:
            raise ValueError(f"HTML nested too deeply to be a document: {n_open} elements are open at once")
