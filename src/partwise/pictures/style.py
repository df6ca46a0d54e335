"""The style sheet of drawings, and what is put around them."""

from __future__ import annotations

from typing import Final

from .markup import Markup, element

__all__ = ["N_HUES", "STYLE", "scrolled", "standalone"]

#: How many colours labels have; further labels begin again with the first one.
N_HUES: Final = 8

_HUES: Final = (
    ("#dbeafe", "#1e3a5f"), ("#fde68a", "#5c4409"), ("#d1fae5", "#0f4a3a"), ("#fbcfe8", "#5f1e48"),
    ("#e0e7ff", "#33307a"), ("#fed7aa", "#6b3410"), ("#cffafe", "#0e4a58"), ("#e5e7eb", "#3f4650"),
)  # fmt: skip

_LIGHT: Final = (
    "--pw-wrong:#b42318;--pw-right:#1a6334;--pw-muted:#57606a;--pw-faint:#d8dee4;"
    "--pw-s0:#1d4ed8;--pw-s1:#b45309;--pw-s2:#15803d;--pw-s3:#57606a;"
) + "".join(f"--pw-hue-{number}:{light};" for number, (light, _) in enumerate(_HUES))
_DARK: Final = (
    "--pw-wrong:#ff9d91;--pw-right:#7ad99b;--pw-muted:#a3adb8;--pw-faint:#373e47;"
    "--pw-s0:#79b0ff;--pw-s1:#f0b35b;--pw-s2:#6fd68f;--pw-s3:#a3adb8;"
) + "".join(f"--pw-hue-{number}:{dark};" for number, (_, dark) in enumerate(_HUES))

_RULES: Final = """
.pw-picture{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
  fill:currentColor;display:block}
.pw-dependencies text,.pw-tree text{text-anchor:middle}
.pw-chart{width:100%;height:auto;font-size:12px}
.pw-chart text{fill:var(--pw-muted)}
.pw-interval{display:inline-block;vertical-align:middle}
.pw-axis{fill:none;stroke:var(--pw-muted);stroke-width:1}
.pw-grid{fill:none;stroke:var(--pw-faint);stroke-width:1}
.pw-curve{fill:none;stroke-width:2;stroke-linejoin:round}
.pw-bar{fill:var(--pw-s0);fill-opacity:.55;stroke:var(--pw-s0);stroke-width:1}
.pw-band{fill:var(--pw-faint);fill-opacity:.5}
.pw-whisker{stroke:var(--pw-s0);stroke-width:4;stroke-opacity:.4;fill:none}
.pw-s1{stroke-dasharray:7 4}
.pw-s2{stroke-dasharray:2 3}
.pw-s3{stroke-dasharray:9 3 2 3;stroke-width:1.4}
.pw-word{font-size:14px}
.pw-tag{font-size:11px;fill:var(--pw-muted)}
.pw-label{font-size:11px}
.pw-line{fill:none;stroke:currentColor;stroke-width:1.3;stroke-opacity:.65}
.pw-wrong .pw-line{stroke:var(--pw-wrong);stroke-dasharray:5 3;stroke-width:1.6;stroke-opacity:1}
.pw-wrong text,.pw-wrong .pw-tip{fill:var(--pw-wrong)}
.pw-right .pw-line{stroke:var(--pw-right);stroke-width:2;stroke-opacity:1}
.pw-right text,.pw-right .pw-tip{fill:var(--pw-right)}
.pw-leaf .pw-line{stroke-dasharray:1 3}
.pw-box{fill:none;stroke:var(--pw-wrong);stroke-dasharray:4 2;stroke-width:1.4}
.pw-scroll{overflow-x:auto;max-width:100%;padding-bottom:.25rem}
.pw-text{line-height:2.3;overflow-wrap:anywhere}
.pw-text bdi{white-space:pre-wrap}
.pw-span{color:inherit;border:1px solid var(--pw-muted);border-radius:.35em;padding:.14em .3em;
  margin:0 .1em;box-decoration-break:clone;-webkit-box-decoration-break:clone}
.pw-span-wrong{border:2px dashed var(--pw-wrong)}
.pw-span b{font-size:.72em;margin-left:.45em;letter-spacing:.02em}
.pw-tokens{display:flex;flex-wrap:wrap;gap:.5em .7em;align-items:flex-start}
.pw-token{display:inline-flex;flex-direction:column;align-items:center;line-height:1.35;
  overflow-wrap:anywhere}
.pw-token b{font-size:.72em;font-weight:600;border-radius:.35em;padding:.05em .4em;
  border:1px solid transparent}
.pw-token .pw-missed{border:1px dashed var(--pw-wrong);color:var(--pw-wrong);
  text-decoration:line-through;background:none}
.pw-token .pw-meant{border:1px solid var(--pw-right);color:var(--pw-right);background:none}
.pw-hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);
  white-space:nowrap}
"""

#: The style sheet of all drawings: a page that shows some holds it once.
STYLE: Final = Markup(
    f":root{{{_LIGHT}}}\n@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    + _RULES
    + "".join(
        f".pw-s{n}{{stroke:var(--pw-s{n})}}\n.pw-m{n}{{fill:var(--pw-s{n});stroke:var(--pw-s{n})}}\n"
        for n in range(4)
    )
    + "".join(f".pw-hue-{n}{{background:var(--pw-hue-{n})}}\n" for n in range(N_HUES))
)


def standalone(svg: Markup) -> Markup:
    """Return an SVG drawing as a file of its own, with its style sheet.

    Parameters
    ----------
    svg : Markup
        The drawing.

    Returns
    -------
    Markup
        An SVG element, to be written to a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.pictures import dependency_svg, standalone
    >>> drawing = standalone(dependency_svg(["dogs", "bark"], [2, 0]))
    >>> "<style>" in drawing
    True
    >>> _ = Path("tree.svg").write_text(drawing, encoding="utf-8")
    """
    ink = "svg{color:#1f2328}@media (prefers-color-scheme:dark){svg{color:#e6edf3}}"
    head, end, rest = svg.partition(">")
    return Markup(f"{head}{end}<style>{ink}{STYLE}</style>{rest}\n")


def scrolled(drawing: Markup, label: str) -> Markup:
    """Return a drawing in a box that scrolls sideways, also by keyboard.

    Parameters
    ----------
    drawing : Markup
        The drawing.
    label : str
        What a screen reader calls the box.

    Returns
    -------
    Markup
        An element of HTML.

    Examples
    --------
    >>> from partwise.pictures import dependency_svg, scrolled
    >>> box = scrolled(dependency_svg(["dogs", "bark"], [2, 0]), "dogs bark")
    >>> box.startswith("<div"), 'tabindex="0"' in box
    (True, True)
    """
    return element("div", drawing, class_="pw-scroll", role="region", aria_label=label, tabindex=0)
