"""Breaking long statements where a person would: after commas, before + and −."""

import re

WIDTH = 96


def wrap(statement: str, width: int = WIDTH) -> list[str]:
    r"""The statement in lines of at most ``width`` characters, as far as it can be broken.

    Breaks are only possible inside brackets; a long expression without any gets parentheses.

    >>> print(*wrap("total = first_term * 2 + second_term * 3 + third_term", 30), sep="\n")
    total = (first_term * 2
             + second_term * 3
             + third_term)
    """
    if len(statement) <= width or statement.lstrip().startswith(
            ("#", "if ", "else", "def ", "for ", "while ")):
        return [statement]
    if statement.startswith(" "):
        indent = statement[:len(statement) - len(statement.lstrip())]
        return [indent + line for line in wrap(statement.lstrip(), width - len(indent))]
    head, expression = _split_head(statement)
    if len(head) > width // 2 and ", " in head:            # many targets
        return [*wrap(f"({head[:-3]})", width - 2)[:-1],
                f"{wrap(f'({head[:-3]})', width - 2)[-1]} = {expression}"]
    breaks = _breaks(expression)
    if not any(depth > 0 and at + len(head) <= width for at, depth in breaks):
        if not breaks:
            return [statement]
        expression = f"({expression})"
        breaks = _breaks(expression)
    elif min(depth for _, depth in breaks) == 0:
        expression = f"({expression})"
        breaks = _breaks(expression)
    return _fill(head, expression, breaks, width)


def _split_head(statement: str) -> tuple[str, str]:
    """``name = ``, ``name *= `` or ``return `` and the rest."""
    if statement.startswith("return "):
        return "return ", statement[len("return "):]
    sign = _ASSIGNMENT.search(statement)
    if sign and statement[:sign.start()].count("(") == statement[:sign.start()].count(")"):
        return statement[:sign.end()], statement[sign.end():]
    return "", statement


def _breaks(text: str) -> list[tuple[int, float]]:
    """Places where a line may end, with their bracket depth; commas go before signs."""
    out: list[tuple[int, float]] = []
    depth = subscripts = 0
    opened = []
    for found in _MARKS.finditer(text):
        i, mark = found.start(), found[0]
        if mark in "([{":
            depth += 1
            opened.append(mark == "[" and i > 0 and (text[i - 1].isalnum() or text[i - 1] in "_)]"))
            subscripts += opened[-1]
        elif mark in ")]}":
            if not opened:                  # the last line of a statement that is broken already
                return []
            depth -= 1
            subscripts -= opened.pop()
        elif subscripts:
            continue
        elif mark == ", ":
            out.append((i + 1, depth))
        else:
            out.append((i, depth + 0.5 if depth else 0))
    return out


_ASSIGNMENT = re.compile(r" (?:[-+*/%&|^]|\*\*|//|<<|>>)?= ")
_MARKS = re.compile(r"[][(){}]|, | [+-](?= )")


def _fill(head: str, text: str, breaks: list[tuple[int, float]], width: int) -> list[str]:
    indent = len(head) + 1 if len(head) < 40 else 8
    lines, start = [], 0
    prefix = head
    while len(prefix) + len(text) - start > width:
        room = start + width - len(prefix)
        inside = [(depth, -at) for at, depth in breaks if start < at <= room and depth > 0]
        if not inside:
            inside = [(depth, at) for at, depth in breaks if at > room and depth > 0][:1]
            if not inside:
                break
            at = inside[0][1]
        else:
            at = -min(inside)[1]
        lines.append(prefix + text[start:at])
        start = at + 1
        prefix = " " * indent
    lines.append(prefix + text[start:])
    return lines
