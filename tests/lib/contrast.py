#!/usr/bin/env python3
"""Checks the colours of a page of quern-report: contrast.py PAGE. Prints a line for each pair that is too much alike.

The ratios are those of the Web Content Accessibility Guidelines: 4.5 for text, 3 for bars; in the light theme and in the
dark one.
"""
import re
import sys

TEXT = [("ink", "bg"), ("ink", "card"), ("ink", "code"), ("soft", "bg"), ("soft", "card"), ("soft", "code"), ("link", "bg"),
        ("good", "goodbg"), ("good", "card"), ("bad", "badbg"), ("bad", "card"), ("bad", "bg"), ("warn", "warnbg"),
        ("ink", "goodbg"), ("ink", "badbg"), ("ink", "warnbg"), ("soft", "goodbg"), ("soft", "badbg"), ("soft", "warnbg")]
BARS = [(name, "bg") for name in ("model", "read", "written", "input", "output", "cost", "tool", "hook", "wait", "compact", "bad")]


def luminance(colour):
    if len(colour) == 3:
        colour = "".join(c * 2 for c in colour)
    parts = [int(colour[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


style = re.search(r"<style>(.*?)</style>", open(sys.argv[1], encoding="utf-8").read(), re.S).group(1)
roots = re.findall(r":root\{(.*?)\}", style, re.S)
assert len(roots) == 2, roots
theme, problems = {}, 0
for name, root in zip(("light", "dark"), roots):
    theme.update(re.findall(r"--(\w+):#([0-9a-f]+)", root))
    for pairs, least in ((TEXT, 4.5), (BARS, 3)):
        for front, back in pairs:
            if ratio(theme[front], theme[back]) < least:
                print(f"{name}: {front} on {back}: {ratio(theme[front], theme[back]):.2f} is less than {least}")
                problems += 1
sys.exit(problems > 0)
