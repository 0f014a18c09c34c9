#!/usr/bin/env python3
"""Runs with small limits drawn at random: no request leaves after one was reached, and used + left = limit.

usage: budgets.py make N > SCRIPT.json               answers for the server, drawn at random; the same for the same N
       budgets.py run N SCRIPT.json LOG QUERN ARG... runs the program N times against it

What a run has used is counted here from the script, not taken from what the program says of it.
"""
import json
import os
import random
import subprocess
import sys
from decimal import Decimal

ANSWERS_A_RUN = 12  # more than the longest run asks for
PRICE_IN, PRICE_OUT = Decimal("0.000002"), Decimal("0.00001")


def make(n):
    rng = random.Random(n)
    answers = []
    for i in range(n * ANSWERS_A_RUN):
        usage = {"input_tokens": rng.choice([1, 10, 300, 900]), "output_tokens": rng.choice([1, 20, 200])}
        what = rng.random()
        if what < 0.08:
            answers.append({"status": 529, "error": {"type": "overloaded_error", "message": "x"},
                            "headers": {"retry-after-ms": "1"}})
        elif what < 0.2:
            answers.append({"text": f"end {i}", "usage": usage})
        elif what < 0.25:
            answers.append({"text": f"cut {i}", "usage": usage, "stop_reason": "max_tokens"})
        else:
            calls = [{"tool_use": {"name": "Glob", "input": {"pattern": f"{i}*"}}} for _ in range(rng.randint(1, 3))]
            answers.append({"content": calls, "usage": usage})
    json.dump(answers, sys.stdout)


def draw_limits(rng):
    limits = {}
    for key, value in [("max_turns", rng.randint(1, 8)), ("max_requests", rng.randint(1, 8)),
                       ("token_budget", rng.randint(1, 4000)), ("max_tool_calls", rng.randint(1, 8)),
                       ("max_cost_usd", f"0.00{rng.randint(1, 99):02d}"), ("wall_time", "60s"),
                       ("token_target", rng.randint(1, 500))]:
        if rng.random() < 0.5:
            limits[key] = value
    limits.setdefault("max_turns", 10)
    limits.setdefault("max_requests", ANSWERS_A_RUN - 1)
    return limits


def usage_of(answer):
    u = answer.get("usage", {})
    return u.get("input_tokens", 0), u.get("output_tokens", 0)


def check(limits, answers, out):
    """What is wrong with a run that got these answers, a line each."""
    result = json.loads(out.splitlines()[-1], parse_float=Decimal)
    told = result["limits"]
    for name, line in told.items():
        if line["used"] + line["left"] != line["limit"]:
            yield f"{name}: {line['used']} + {line['left']} is not {line['limit']}"
    if set(told) != {k if k != "wall_time" else "wall_time_ms" for k in limits} - {"token_target"}:
        yield f"limits {sorted(limits)}, and the result has {sorted(told)}"
    tokens = turns = 0
    cost = Decimal(0)
    for i, answer in enumerate(answers):
        for name, used in [("max_requests", i), ("token_budget", tokens), ("max_turns", turns), ("max_cost_usd", cost)]:
            if name in limits and used >= Decimal(limits[name]):
                yield f"request {i + 1} left when {used} of {name} {limits[name]} was used"
        into, out_of = usage_of(answer)
        tokens += into + out_of
        cost += into * PRICE_IN + out_of * PRICE_OUT
        turns += "status" not in answer
    calls = sum(b["type"] == "tool_result" and not b.get("is_error") for line in out.splitlines()
                for event in [json.loads(line)] if event["type"] == "user" for b in event["message"]["content"])
    for name, used in [("max_requests", len(answers)), ("token_budget", tokens), ("max_turns", turns),
                       ("max_cost_usd", cost), ("max_tool_calls", calls)]:
        if name in told and told[name]["used"] != used:
            yield f"{name}: {told[name]['used']} used, but it was {used}"
    if calls > limits.get("max_tool_calls", calls):
        yield f"{calls} calls were run"
    reasons = {"completed", "max_turns", "budget_exhausted", "max_output_tokens"}
    if result["terminal_reason"] not in reasons:
        yield f"{result['terminal_reason']}: {result.get('errors')}"


def run(n, script, log, command):
    rng = random.Random(n)
    answers = json.load(open(script, encoding="utf-8"))
    wrong, ends, sent = 0, {}, 0
    for i in range(n):
        limits = draw_limits(rng)
        with open(f"{log}/run", "w", encoding="utf-8") as f:
            f.write(f"b{i}")
        args = [a for k, v in limits.items() for a in ("--set", f"limits.{k}={v}")]
        p = subprocess.run(command + args, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        got = sum(name.endswith(".head") and name[0].isdigit() for name in os.listdir(log))
        problems = list(check(limits, answers[sent:got], p.stdout.decode()))
        for line in problems if wrong < 5 else []:
            print(f"run {i} ({limits}): {line}")
        wrong += bool(problems)
        reason = json.loads(p.stdout.splitlines()[-1])["terminal_reason"]
        ends[reason] = ends.get(reason, 0) + 1
        sent = got
    print(ends)
    # limits that nothing ever meets would show nothing
    sys.exit(wrong > 0 or min(ends.get(r, 0) for r in ("completed", "max_turns", "budget_exhausted")) < n // 20)


if sys.argv[1] == "make":
    make(int(sys.argv[2]))
else:
    run(int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:])
