/* How the page looks: one column, two themes, no decoration that says nothing. */
#include "report/story.h"

const char *const page_style[] = {
	":root{--bg:#fbfaf7;--card:#fff;--ink:#1f1e1c;--soft:#6c6962;--line:#e5e1d8;--code:#f4f1ea;--link:#2456b8;",
	"--good:#1b7a43;--goodbg:#e7f4ec;--bad:#b42318;--badbg:#fcebe9;--warn:#8a5a00;--warnbg:#fbf2dd;",
	"--read:#b9cbea;--written:#7d9ed8;--input:#3864b4;--output:#2c8a70;--cost:#a67c2d;--tool:#c58a2a;--hook:#"
	"8b62b5;",
	"--wait:#c9c4b8;--compact:#3f9aa8}",
	"@media(prefers-color-scheme:dark){:root{--bg:#151516;--card:#1c1c1e;--ink:#e7e4de;--soft:#9c988f;--line:#"
	"302f2d;",
	"--code:#232325;--link:#8ab4ff;--good:#6fcf97;--goodbg:#16291e;--bad:#ff8f84;--badbg:#331a18;--warn:#e5b860;",
	"--warnbg:#2d2616;--read:#3a4f78;--written:#5a7fc0;--input:#8fb1ee;--output:#56bd9f;--cost:#d0a95a;--tool:#"
	"d9a04a;",
	"--hook:#b18fda;--wait:#4a4843;--compact:#5cb8c6}}",
	"*{box-sizing:border-box}",
	"html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}",
	"body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.55 system-ui,-apple-system,\"Segoe "
	"UI\",Roboto,",
	"\"Noto Sans\",\"DejaVu Sans\",sans-serif;overflow-wrap:anywhere}",
	"main{max-width:60rem;margin:0 auto;padding:2.2rem 1.25rem 4rem}",
	"a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}",
	"code,pre,kbd{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans "
	"Mono\",monospace;font-size:.86em}",
	"pre{margin:.5rem 0;padding:.7rem "
	".85rem;background:var(--code);border-radius:6px;line-height:1.45;white-space:pre-wrap;",
	"max-height:34rem;overflow:auto;tab-size:4;unicode-bidi:plaintext}",
	"h1{font-size:1.65rem;line-height:1.25;letter-spacing:-.012em;margin:.15rem 0 "
	"1.1rem;font-weight:650;text-wrap:balance}",
	"h2{font-size:.8rem;letter-spacing:.06em;text-transform:uppercase;color:var(--soft);margin:2.4rem 0 "
	".6rem;font-weight:600}",
	"h3{font-size:.95rem;margin:0 0 "
	".45rem;font-weight:600;display:flex;gap:.75rem;align-items:baseline;flex-wrap:wrap}",
	".m{color:var(--soft);font-size:.82rem;font-weight:400;font-variant-numeric:tabular-nums;white-space:nowrap}",
	".brand{margin:0;font-size:.85rem;font-weight:650;color:var(--soft);letter-spacing:.02em}",
	".brand span{font-weight:400;margin-left:.7em}",
	".nav{list-style:none;margin:0 0 1.5rem;padding:0}.nav li{padding:.2rem 0}.nav b{margin:0 "
	".5em;font-weight:600}",
	".run{display:none}.many .run{display:block;font-size:1.2rem;font-weight:650;margin:3.5rem 0 "
	".8rem;padding-top:1.2rem;",
	"border-top:2px solid var(--line)}",
	".ok{color:var(--good)}.no{color:var(--bad)}",
	".verdict{display:flex;gap:.35rem .8rem;flex-wrap:wrap;align-items:baseline;margin:0 0 .7rem;padding:.65rem "
	".9rem;",
	"border-radius:8px;border-left:4px solid}",
	".verdict.good{background:var(--goodbg);border-color:var(--good)}.verdict.good b{color:var(--good)}",
	".verdict.bad{background:var(--badbg);border-color:var(--bad)}.verdict.bad b{color:var(--bad)}",
	".verdict .m{margin-left:auto}",
	".err{margin:.3rem 0 .7rem;padding-left:1.15rem;color:var(--bad)}",
	".facts{display:flex;flex-wrap:wrap;gap:1px;margin:0 0 .8rem;background:var(--line);",
	"border:1px solid var(--line);border-radius:8px;overflow:hidden}",
	".facts div{background:var(--card);padding:.6rem .9rem;flex:1 1 auto;white-space:nowrap}",
	".facts dt{font-size:.76rem;color:var(--soft)}",
	".facts dd{margin:0;font-weight:600;font-variant-numeric:tabular-nums;line-height:1.35}",
	".facts small{display:block;font-weight:400;font-size:.76rem;color:var(--soft)}",
	"nav{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;font-size:.88rem}",
	".say{max-width:46rem}.say p,.user p{margin:.5rem 0;white-space:pre-line}.say "
	".h{font-weight:650;margin-top:1rem}",
	".say ul,.user ul{margin:.5rem 0;padding-left:1.3rem}.say li,.user li{margin:.15rem 0}.say li.no,.user "
	"li.no{list-style:none;",
	"text-indent:-1.1rem;color:inherit}",
	".say code,.user code,.aside code,summary code,td code{background:var(--code);padding:.08em "
	".32em;border-radius:4px}",
	".user{border-left:3px solid var(--link);padding:.1rem 0 .1rem .95rem;max-width:46rem}",
	".answer{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.35rem "
	"1rem;max-width:none}",
	".gone{opacity:.55;text-decoration:line-through;text-decoration-color:var(--soft)}",
	".turn{padding:1.15rem 0 .35rem;border-top:1px solid var(--line);scroll-margin-top:.5rem}",
	".turn:target h3 a{background:var(--warnbg)}",
	".turn h3 a{color:inherit}",
	"details{margin:.4rem 0}summary{cursor:pointer}",
	".call{background:var(--card);border:1px solid var(--line);border-radius:8px}",
	".call>summary{display:flex;gap:.5rem;align-items:baseline;padding:.42rem .8rem;list-style:none;min-width:0}",
	".call>summary::-webkit-details-marker{display:none}",
	".call>summary::before{content:\"\";flex:none;width:.42em;height:.42em;border:solid var(--soft);border-width:0 "
	"1.5px 1.5px 0;",
	"transform:rotate(-45deg);margin-right:.15rem;align-self:center}",
	".call[open]>summary::before{transform:rotate(45deg)}",
	".call>summary "
	"code{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;min-width:0;background:none;padding:0}",
	".call>summary b{font-weight:600}.call>summary .m{margin-left:auto;flex:none}",
	".call[open]>summary{border-bottom:1px solid var(--line)}",
	".call>:not(summary){margin-left:.8rem;margin-right:.8rem}",
	".call.bad{border-color:color-mix(in srgb,var(--bad) 45%,var(--line))}",
	"mark{background:var(--badbg);color:var(--bad);border-radius:4px;padding:.05em .4em;font-weight:600}",
	".in{display:grid;grid-template-columns:auto 1fr;gap:.15rem .8rem;margin:.55rem 0}.in "
	"dt{color:var(--soft);font-size:.84rem}",
	".in dd{margin:0;min-width:0}.in pre{margin:.1rem 0 .3rem}",
	".out{border-left:2px solid "
	"var(--line);padding-left:.7rem;margin-bottom:.6rem}.bad>.out{border-color:var(--bad)}",
	".out img{max-width:100%;max-height:24rem;display:block;margin:.5rem 0;border-radius:4px}",
	".think>summary,.more>summary{color:var(--soft);font-size:.88rem}.think "
	".say{color:var(--soft);font-size:.93rem;",
	"border-left:2px solid var(--line);padding-left:.9rem}",
	".aside{margin:.4rem 0;padding:.32rem .8rem;background:var(--warnbg);border-radius:6px;font-size:.88rem}",
	".aside b{color:var(--warn);font-weight:600;margin-right:.3em}.aside.bad{background:var(--badbg)}.aside.bad "
	"b{color:var(--bad)}",
	".aside.fine{background:var(--code)}.aside.fine b{color:var(--soft)}.aside pre{margin:.4rem 0 "
	".2rem;background:var(--card)}",
	".cut{color:var(--soft);font-size:.84rem;font-style:italic;margin:.4rem 0}",
	"i.c{font-style:normal;font-size:.85em;color:var(--bad);background:var(--badbg);border-radius:3px;padding:0 "
	".15em;",
	"unicode-bidi:isolate}",
	".pm{font-size:.84rem;font-variant-numeric:tabular-nums;white-space:nowrap}.pm "
	"ins{color:var(--good);text-decoration:none}",
	".pm del{color:var(--bad);text-decoration:none}",
	".diff{padding:.4rem 0;white-space:pre-wrap}.diff>*{display:block;padding:0 "
	".85rem;text-decoration:none;font-style:normal;",
	"font-weight:400}.diff ins{background:var(--goodbg);color:var(--good)}.diff "
	"del{background:var(--badbg);color:var(--bad)}",
	".diff b{color:var(--soft);padding-top:.25rem}.diff em{color:var(--soft)}",
	"figure{margin:0}figcaption{display:flex;flex-wrap:wrap;gap:.2rem "
	"1.1rem;margin-top:.4rem;font-size:.82rem;color:var(--soft)}",
	".k{display:inline-block;width:.72em;height:.72em;border-radius:2px;margin-right:.45em}",
	"svg{display:block;overflow:visible}svg line{stroke:var(--line)}svg text{fill:var(--soft);font-size:11px;",
	"font-variant-numeric:tabular-nums}svg a:hover rect{opacity:.75}",
	".grid{display:grid;grid-template-columns:3.4rem "
	"1fr}.rows{font-size:.82rem;color:var(--soft);line-height:20px}",
	".la{fill:var(--input);background:var(--input)}.lb,.lx,.lo{fill:var(--bad);background:var(--bad)}",
	".lw{fill:var(--wait);background:var(--wait)}.lc{fill:var(--compact);background:var(--compact)}",
	".lt{fill:var(--tool);background:var(--tool)}.lh{fill:var(--hook);background:var(--hook)}",
	".tr{fill:var(--read);background:var(--read)}.tw{fill:var(--written);background:var(--written)}",
	".ti{fill:var(--input);background:var(--input)}.to{fill:var(--output);background:var(--output)}",
	".tc{fill:var(--cost);background:var(--cost)}",
	".panel{margin:.2rem 0 .7rem}.panel p{margin:0 0 .2rem;font-size:.82rem;color:var(--soft);display:flex;",
	"justify-content:space-between}.panel b{font-weight:400;font-variant-numeric:tabular-nums}.panel "
	"b::before{content:\"at most \"}",
	".path{list-style:none;display:flex;flex-wrap:wrap;gap:.35rem;margin:0;padding:0;font-size:.86rem;align-items:"
	"center}",
	".path li{border:1px solid var(--line);background:var(--card);border-radius:99px;padding:.12rem .75rem}",
	".path li+li::before{content:\"→\";position:relative;color:var(--soft);margin-right:.5rem}",
	".path .good{border-color:var(--good);color:var(--good)}.path .bad{border-color:var(--bad);color:var(--bad)}",
	".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem;width:100%}",
	"th,td{text-align:left;padding:.28rem .9rem .28rem 0;border-bottom:1px solid "
	"var(--line);vertical-align:top;font-weight:400}",
	"thead "
	"th{color:var(--soft);font-size:.8rem}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:"
	"nowrap}",
	".limits th{white-space:nowrap}.meter{width:45%}.meter "
	"i{display:block;height:.5rem;margin-top:.5em;background:var(--input);",
	"border-radius:99px;min-width:2px}.meter i.full{background:var(--bad)}",
	".plain{list-style:none;margin:0;padding:0;font-size:.9rem}.plain li{padding:.25rem 0;border-bottom:1px solid "
	"var(--line)}",
	".rows2{margin:0;font-size:.9rem}.rows2>div{display:grid;grid-template-columns:13rem "
	"1fr;gap:1rem;padding:.25rem 0;",
	"border-bottom:1px solid var(--line)}.rows2 dt{color:var(--soft)}.rows2 dd{margin:0;min-width:0}",
	".talk{margin-top:2.6rem}footer{margin-top:3rem;color:var(--soft);font-size:.82rem}",
	"@media(max-width:36rem){main{padding:1.2rem .9rem "
	"3rem}body{font-size:15px}.rows2>div{grid-template-columns:1fr;gap:0}",
	".in{grid-template-columns:1fr}.meter{width:25%}.call>summary{flex-wrap:wrap}.call>summary "
	"code{flex-basis:100%;order:3}",
	".verdict .m{margin-left:0}}",
	"@media "
	"print{:root{--bg:#fff;--card:#fff}body{font-size:10pt}main{max-width:none;padding:0}pre{max-height:none}",
	"details::details-content{content-visibility:visible;display:block}.turn,.call{break-inside:avoid-page}}",
	NULL,
};
