#!/usr/bin/env python3
"""Checks a page of quern-report: page.py PAGE. Prints a line a problem, exits 1 if there is any.

The elements are closed in the order in which they were opened; nothing in it runs or is loaded; what it points to is
there; it is UTF-8 without characters that a reader does not see.
"""
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br"}
OPTIONAL = {"tr", "td", "th"}  # closed by the next one
ELEMENTS = {"html", "head", "body", "title", "style", "main", "header", "footer", "nav", "article", "section", "div", "p",
            "span", "h1", "h2", "h3", "a", "b", "i", "em", "strong", "small", "mark", "code", "pre", "ins", "del", "ul",
            "ol", "li", "dl", "dt", "dd", "details", "summary", "figure", "figcaption", "svg", "g", "text", "table",
            "thead", "tbody", "line", "rect"} | VOID | OPTIONAL
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.problems, self.ids, self.targets, self.csp = [], [], set(), [], ""

    def problem(self, text):
        self.problems.append(f"line {self.getpos()[0]}: {text}")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in ELEMENTS:
            self.problem(f"<{tag}> has no business here")
        for key, value in attrs.items():
            if key.startswith("on") or key in ("srcset", "action", "formaction", "background"):
                self.problem(f"{tag} {key}={value}")
            if key in ("src", "href") and not re.match(r"#r\d+[a-z]*\d*$|data:(image/(png|jpeg|gif|webp);base64)?,", value):
                self.problem(f"{tag} {key}={value}")
            if key == "style" and not re.match(r"(height|width|margin-left):[\d.]+(px|%|em)$", value):
                self.problem(f"{tag} style={value}")
        if "id" in attrs:
            if attrs["id"] in self.ids:
                self.problem(f"id {attrs['id']} twice")
            self.ids.add(attrs["id"])
        if attrs.get("href", "").startswith("#"):
            self.targets.append(attrs["href"][1:])
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.csp = attrs["content"]
        if tag in OPTIONAL:
            while self.open and self.open[-1] in OPTIONAL and (tag == "tr" or self.open[-1] != "tr"):
                self.open.pop()
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open[-1] in OPTIONAL and tag not in OPTIONAL:
            self.open.pop()
        if tag == "tr":
            while self.open and self.open[-1] in ("td", "th"):
                self.open.pop()
        if not self.open or self.open[-1] != tag:
            self.problem(f"</{tag}> closes {self.open[-3:]}")
        else:
            self.open.pop()


def main():
    text = open(sys.argv[1], "rb").read().decode("utf-8")
    page = Page()
    page.feed(text)
    page.close()
    if page.open:
        page.problem(f"never closed: {page.open}")
    for target in page.targets:
        if target not in page.ids:
            page.problem(f"#{target} is nowhere")
    for rule in ("default-src 'none'", "style-src 'unsafe-inline'", "img-src data:"):
        if rule not in page.csp:
            page.problem(f"the policy lacks {rule}: {page.csp}")
    for m in list(HIDDEN.finditer(text))[:5]:
        page.problem(f"U+{ord(m.group()):04X} at {m.start()}")
    if page.problems:
        print("\n".join(page.problems[:20]))
        sys.exit(1)


main()
