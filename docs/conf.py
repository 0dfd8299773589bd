"""Settings of the documentation site.

Build: sphinx-build -W --keep-going -j 2 docs build/docs
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from importlib.metadata import files
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

# MathJax in one file, with its fonts, from a package that only carries it: the pages need no network.
(MATHJAX,) = (file.locate() for file in files("sphinx-mathjax-offline") or () if file.name == "tex-svg.js")
mathjax_path = MATHJAX.name

project = "propriety"
author = "the propriety developers"
project_copyright = author
release = installed_version("propriety")
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "adapters",
    "command_line",
    "docstrings",
    "example_report",
    "names",
    "records",
    "reference_pages",
    "tidy_examples",
]
templates_path = ["_templates"]
exclude_patterns = ["_*", "gallery", "images", "pictures/*.ipynb"]
nitpicky = True
suppress_warnings = ["config.cache"]  # The settings of sphinx-gallery hold functions, which are not stored.

# Markdown and notebooks. What is marked as a cell is run at every build, and an error in it ends the build.
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_output_stderr = "warn"
nb_render_markdown_format = "myst"

# Pictures of cells are drawn as SVG, sharp at any size.
ipython = Path(tempfile.mkdtemp(prefix="propriety-docs-"))
(ipython / "profile_default").mkdir()
(ipython / "profile_default" / "ipython_kernel_config.py").write_text(
    "c = get_config()\n"
    "c.InlineBackend.figure_formats = {'svg'}\n"
    "c.InlineBackend.rc = {'figure.dpi': 96, 'font.size': 10}\n"
    "c.HistoryManager.enabled = False\n",
    encoding="utf-8",
)
os.environ["IPYTHONDIR"] = str(ipython)
# Several pages are made at a time, so that each keeps to one core.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The reference: what a docstring calls by a public name is linked to it.
default_role = "api"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

bibtex_bibfiles = ["bibliography.bib"]
bibtex_reference_style = "author_year"
bibtex_default_style = "plain"

sphinx_gallery_conf = {
    "examples_dirs": str(HERE / "gallery"),
    "gallery_dirs": "pictures",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "copyfile_regex": "",
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
    "min_reported_time": 60,
    "write_computation_times": False,
    "remove_config_comments": True,
}

# The published site links to those of other libraries and to its own other versions; a build without network does not.
PUBLISHED = os.environ.get("PROPRIETY_SITE", "")
LIBRARIES = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "scipy": "https://docs.scipy.org/doc/scipy",
    "sklearn": "https://scikit-learn.org/stable",
    "matplotlib": "https://matplotlib.org/stable",
}
intersphinx_mapping = {name: (address, None) for name, address in LIBRARIES.items()} if PUBLISHED else {}

html_theme = "pydata_sphinx_theme"
html_title = "propriety"
html_static_path = ["_static", str(MATHJAX)]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "propriety"},
    "show_nav_level": 1,
    "navigation_depth": 3,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
if PUBLISHED:
    html_theme_options["switcher"] = {"json_url": f"{PUBLISHED}/versions.json", "version_match": release}
    html_theme_options["navbar_end"] = ["version-switcher", "theme-switcher"]
html_sidebars = {"index": [], "bibliography": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

warnings.filterwarnings("error", module="propriety")
