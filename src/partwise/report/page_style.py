"""The style sheet of a report: light and dark, wide and narrow, and on paper."""

from __future__ import annotations

from typing import Final

from ..pictures import STYLE, Markup

__all__ = ["PAGE_STYLE"]

_PAGE: Final = """
:root{color-scheme:light dark;--ink:#1f2328;--paper:#fff;--panel:#f6f8fa;--rule:#d8dee4;
  --muted:#57606a;--link:#0550ae;--good:#1a6334;--shade:29,78,216;--warn:#7a4a00;--warn-panel:#fff8e6}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--panel:#161b22;
  --rule:#373e47;--muted:#a3adb8;--link:#79b0ff;--good:#7ad99b;--shade:121,176,255;--warn:#f0c674;
  --warn-panel:#2b2310}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.55;
  font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main,header,footer{max-width:64rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
.kind{color:var(--muted);margin:0;font-size:.9rem;letter-spacing:.06em;text-transform:uppercase}
h1{font-size:2rem;line-height:1.2;margin:.2rem 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1.4rem;margin:3rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--rule)}
h3{font-size:1.08rem;margin:2rem 0 .5rem}
p,li{max-width:46rem;overflow-wrap:anywhere}
.lead{font-size:1.12rem;margin:0 0 1.25rem}
a{color:var(--link)}
a:focus-visible,.pw-scroll:focus-visible,summary:focus-visible{outline:2px solid var(--link);
  outline-offset:2px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.75rem;margin:0;padding:0}
.card{background:var(--panel);border:1px solid var(--rule);border-radius:.6rem;padding:.8rem 1rem;
  display:flex;flex-direction:column}
.card dt{order:2;font-size:.88rem;line-height:1.35}
.card dd{margin:0;order:3;font-size:.8rem;color:var(--muted)}
.card .figure{order:1;font-size:1.5rem;font-weight:650;line-height:1.3;color:inherit;
  font-variant-numeric:tabular-nums}
nav{margin:1.5rem 0 0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.4rem .5rem;margin:0;padding:0}
nav a{display:inline-block;padding:.2rem .65rem;border:1px solid var(--rule);border-radius:1rem;
  text-decoration:none;font-size:.9rem}
nav a:hover{background:var(--panel)}
.note{border-left:4px solid var(--warn);background:var(--warn-panel);padding:.6rem .9rem;
  border-radius:.3rem;max-width:48rem}
table{border-collapse:collapse;font-size:.92rem;margin:.5rem 0}
caption{text-align:left;color:var(--muted);padding-bottom:.4rem;font-size:.9rem;
  max-width:min(46rem,calc(100vw - 3.5rem))}
th,td{padding:.32rem .9rem .32rem 0;text-align:left;vertical-align:baseline;
  border-bottom:1px solid var(--rule)}
th{font-weight:600}
thead th{color:var(--muted);font-size:.84rem;border-bottom:2px solid var(--rule)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td small{color:var(--muted);display:block;font-size:.78rem}
.label,td.f{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86rem;
  overflow-wrap:anywhere;unicode-bidi:isolate}
td.f{min-width:9rem;max-width:24rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(19rem,100%),1fr));gap:1.25rem}
figure{margin:.75rem 0;min-width:0}
figcaption{color:var(--muted);font-size:.9rem;margin-bottom:.4rem;max-width:46rem}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(19rem,100%),1fr));
  gap:.25rem 2rem;align-items:start}
.grid.wide{grid-template-columns:repeat(auto-fit,minmax(min(25rem,100%),1fr))}
.grid table{width:100%}
.grid th,.grid td{padding-top:.18rem;padding-bottom:.18rem}
.grid tbody th,.grid td.f{min-width:8.6rem}
.grid tbody th{font-weight:400}
.grid td:last-child{width:4.6rem;padding-right:0}
.matrix td,.matrix thead th{text-align:right;padding:.3rem .55rem}
.matrix td{font-variant-numeric:tabular-nums;border:1px solid var(--rule)}
.matrix tbody th{text-align:right;padding-right:.6rem;border:0}
.matrix thead th{border-bottom:0;vertical-align:bottom;color:var(--ink)}
.matrix .same{color:var(--good);font-weight:650;border:2px solid var(--good)}
.matrix .zero{color:var(--muted)}
.example{border:1px solid var(--rule);border-radius:.6rem;padding:.9rem 1.1rem;margin:1rem 0;
  break-inside:avoid}
.example h3{margin:0 0 .5rem;font-size:1rem}
.example h4{margin:1rem 0 .1rem;font-size:.95rem;font-weight:600}
.example p{margin:.3rem 0}
.item{white-space:nowrap;margin-right:.35rem}
.which{font-size:.8rem;color:var(--muted);margin:.6rem 0 .1rem}
.bar{display:inline-block;width:4.5rem;height:.7rem;vertical-align:middle}
.bar rect.for{fill:var(--pw-s0)}
.bar rect.against{fill:none;stroke:var(--pw-s1);stroke-width:1.5}
pre{background:var(--panel);border:1px solid var(--rule);border-radius:.5rem;padding:.8rem 1rem;
  overflow-x:auto;font-size:.86rem;line-height:1.5}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
p code,li code,dd code{font-size:.88em;overflow-wrap:anywhere}
dl.plain{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;
  gap:.25rem 1.25rem;margin:.5rem 0}
dl.plain dt{color:var(--muted)}
dl.plain dd{margin:0;overflow-wrap:anywhere}
dl.plain ul{margin:0;padding-left:1.1rem}
footer{color:var(--muted);font-size:.85rem;padding-top:2rem;padding-bottom:3rem}
@media (max-width:34rem){
  header{padding-top:1.5rem}
  main,header,footer{padding-left:1rem;padding-right:1rem}
  h1{font-size:1.55rem}
  .pw-chart{font-size:15px}
  .cards{grid-template-columns:repeat(2,minmax(0,1fr));gap:.5rem}
  .card{padding:.6rem .75rem}
  .card .figure{font-size:1.2rem}
  .example{padding:.75rem .8rem}
  dl.plain{grid-template-columns:1fr;gap:0}
  dl.plain dd{margin-bottom:.5rem}
}
@media print{
  :root{--ink:#000;--paper:#fff;--panel:#fff;--muted:#444;--rule:#bbb}
  nav{display:none}
  body{font-size:10.5pt}
  h2,h3,h4,caption,figcaption{break-after:avoid}
  figure,table,.card,pre{break-inside:avoid}
  .pw-scroll,pre{overflow:visible;white-space:pre-wrap}
  .pw-scroll svg{max-width:100%;height:auto}
  a{color:inherit;text-decoration:none}
}
"""

#: Backgrounds of the table of confusions, from few to many.
_SHADES: Final = "".join(
    f".shade-{step}{{background:rgba(var(--shade),{0.06 * step:.2f})}}\n" for step in range(10)
)

PAGE_STYLE: Final = Markup(STYLE + _PAGE + _SHADES)
