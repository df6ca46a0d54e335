"""Configuration of the documentation; ``make docs`` builds it in build/docs."""

from __future__ import annotations

import sys
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

from pygments.lexers.special import TextLexer

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from generated_pages import write_pages  # noqa: E402

import partwise  # noqa: E402

# They are made from the package and from the files at its root before Sphinx looks for pages.
write_pages(HERE)

project = "partwise"
author = "the partwise developers"
project_copyright = author
version = release = partwise.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["examples"]
nitpicky = True

myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 4

# Types are said in words by the docstrings; annotations would name private modules.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["tutorials"],
    "filename_pattern": r"/\d",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "write_computation_times": False,
    "default_thumb_file": str(HERE / "pictures" / "convergence.png"),
}

html_theme = "pydata_sphinx_theme"
html_title = "partwise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "partwise"},
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# A page without neighbours needs no empty column.
_ALONE = ("index", "first_hour", "papers", "search", "genindex")
html_sidebars: dict[str, list[str]] = {page: [] for page in _ALONE}


def _foreign(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn and Python bring to a class, and what is not for users."""
    del app, what, options
    home = getattr(member, "__module__", None) or getattr(
        getattr(member, "__objclass__", None), "__module__", None
    )
    if isinstance(member, property):
        home = getattr(member.fget, "__module__", None)
    if home is None and isinstance(member, BuiltinFunctionType):
        return True
    if home and home.partition(".")[0] != "partwise":
        return True
    # What estimators use among themselves.
    if home in ("partwise.tasks.trainer", "partwise.training.settings") and name != "from_model":
        return True
    return None


def setup(app: Any) -> None:
    """Connect the hook above; the languages of template files have no colours."""
    app.connect("autodoc-skip-member", _foreign)
    for language in ("crfpp", "wapiti"):
        app.add_lexer(language, TextLexer)
