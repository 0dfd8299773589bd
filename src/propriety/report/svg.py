"""SVG prepared for a page: no styles, no clashing ids, colours for light and dark mode, no active content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element, ParseError, fromstring, tostring  # nosec B405  # `_parse` rejects entities.

from propriety.errors import InputValueError
from propriety.plots.drawing import COLORS
from propriety.report.paths import short_path

# Labels may have these, and neither XML nor HTML does.
CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}")

NAMESPACE = "http://www.w3.org/2000/svg"
MODEL = "model-"

SHAPES = {"path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "use"}
ELEMENTS = SHAPES | {"svg", "g", "defs", "clipPath", "pattern", "title", "desc"}
POINTS = {"x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "points"}
NUMERIC = POINTS | {"transform", "viewBox", "font-size", "stroke-width", "stroke-dasharray", "stroke-dashoffset"}
PAINT = {
    "fill",
    "fill-opacity",
    "fill-rule",
    "opacity",
    "stroke",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
}
LETTERS = {"font-style", "font-weight", "text-anchor"}
LINKS = {"id", "href", "clip-path", "clip-rule", "patternUnits", "patternTransform", "clipPathUnits"}
ATTRIBUTES = NUMERIC | PAINT | LETTERS | LINKS | {"d", "data-model"}
LONG_NUMBER = re.compile(r"-?\d*\.\d+(?:[eE][-+]?\d+)?")
HEX = re.compile(r"#[0-9a-f]{6}")
REFERENCE = re.compile(r"url\(#([^)]+)\)")
SHORTHAND = re.compile(r"(?P<weight>bold|\d{3})?\s*(?P<size>[\d.]+)px")
# Names of the page's greys, with the lightness at which each ends; text takes the darker two for contrast.
GREYS = ((0.2, "ink"), (0.45, "soft"), (0.57, "line"), (0.7, "mid"), (0.83, "rule"), (0.97, "band"), (1.0, "paper"))
INK = "var(--ink,#000000)"
HUES = tuple(color.lower() for color in COLORS if len(set(re.findall("..", color[1:]))) > 1)


def clean(source: str) -> str:
    """Return what Matplotlib wrote as plain SVG.

    Style attributes become presentation attributes, which a strict Content-Security-Policy allows. Colours become names
    of the page's colours, with the drawn one to fall back on. Numbers keep two places. What is said twice is said
    once: the colour of black text, attributes of a shape that is used, and the paint of all markers of a line. An
    artist whose gid is ``model-0`` carries ``data-model="0"``.

    Examples
    --------
    >>> clean('<svg xmlns="http://www.w3.org/2000/svg"><path d="M 1.2345 2 L 3 4" style="stroke: #000000"/></svg>')
    '<svg xmlns="http://www.w3.org/2000/svg"><path stroke="var(--ink,#000000)" d="M1.23 2l1.77 2" /></svg>'
    """
    root = _parse(source)
    for element in root.iter():
        _plain(element)
    _inherit(root)
    _prune(root, _referenced(root))
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    root.set("xmlns", NAMESPACE)
    return tostring(root, encoding="unicode")


def adopt(source: str, prefix: str, *, title: str, description: str) -> str:
    """Return SVG as part of a page, as one image to a screen reader.

    Its ids begin with `prefix`. Whoever made it, elements that pictures do not need are refused, and attributes and
    addresses left out.

    Examples
    --------
    >>> adopt('<svg onload="x()"><g id="a"/></svg>', "f1-", title="One", description="Two")[:49]
    '<svg role="img" aria-labelledby="f1-title f1-desc'
    """
    root = _parse(source)
    names = {name: f"{prefix}{place}" for place, name in enumerate(_ids(root))}
    for element in root.iter():
        if element.tag not in ELEMENTS:
            raise InputValueError(f"a figure's SVG must hold shapes and text only; got <{element.tag}>")
        element.attrib = {key: _renamed(value, names) for key, value in element.attrib.items() if _allowed(key, value)}
    for name, text in (("desc", description), ("title", title)):
        element = Element(name, {"id": prefix + name})
        element.text = _writable(text)
        root.insert(0, element)
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}title {prefix}desc")
    return tostring(root, encoding="unicode")


def _parse(source: str) -> Element:
    """Parse SVG without its namespaces; entities, with which a document can grow without bound, are rejected."""
    if "<!ENTITY" in source:
        raise InputValueError("a figure's SVG must not declare entities")
    try:
        root = fromstring(source.translate(CONTROLS))  # noqa: S314  (entities are rejected above)  # nosec B314
    except ParseError as error:
        raise InputValueError(f"a figure's SVG must be XML; {error}") from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    if root.tag != "svg":
        raise InputValueError(f"a figure's SVG must begin with <svg>; got <{root.tag}>")
    return root


def _plain(element: Element) -> None:
    attributes = dict(_declarations(element.attrib.pop("style", ""))) | element.attrib
    name = attributes.get("id", "")
    if name.startswith(MODEL):
        attributes["data-model"] = name.removeprefix(MODEL)
        del attributes["id"]
    if element.tag == "svg":
        attributes |= {"stroke-linejoin": "round", "stroke-linecap": "butt"} if element.findall("defs") else {}
    if element.tag == "text":
        attributes.setdefault("fill", "#000000")
        if re.match(r"rotate\(-?0 ", attributes.get("transform", "")):
            del attributes["transform"]
    for key in ("fill", "stroke"):
        if HEX.fullmatch(attributes.get(key, "").lower()):
            attributes |= _color(key, attributes[key].lower(), on_text=element.tag == "text")
    if attributes.get("stroke-dashoffset") == "0":
        del attributes["stroke-dashoffset"]
    element.attrib = {key: _short(key, value) for key, value in attributes.items() if _allowed(key, value)}
    if element.tag not in {"text", "tspan"}:
        element.text = None
    element.tail = None


def _inherit(root: Element) -> None:
    """Leave out attributes that an element has anyway, from the root or from the shape that it uses."""
    texts = [element for element in root.iter("text") if element.get("fill") == INK]
    for text in texts:
        del text.attrib["fill"]
    if texts:
        root.set("fill", INK)
    shapes = {element.get("id"): element.attrib for element in root.iter("path")}
    for use in root.iter("use"):
        shape = shapes.get(use.get("href", "")[1:], {})
        use.attrib = {key: value for key, value in use.attrib.items() if shape.get(key) != value}
    for group in root.iter("g"):
        uses = group.findall("use")
        if len(uses) > 1 and {child.tag for child in group} <= {"use", "defs"}:
            _share(group, uses)


def _share(group: Element, uses: Sequence[Element]) -> None:
    """Move the paint that all markers of a group have to the group."""
    first, *others = uses
    common = {
        key: value
        for key, value in first.items()
        if key in PAINT - group.attrib.keys() - {"opacity"} and all(one.get(key) == value for one in others)
    }
    group.attrib |= common
    for one in uses:
        for key in common:
            del one.attrib[key]


def _declarations(style: str) -> Iterator[tuple[str, str]]:
    """Yield the declarations of a style attribute; the page sets the font family."""
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font" and (match := SHORTHAND.search(value)):
            yield "font-size", match["size"]
            if match["weight"]:
                yield "font-weight", match["weight"]
        elif name == "font-size":
            yield name, value.removesuffix("px")
        elif name:
            yield name, value


def _color(key: str, color: str, *, on_text: bool) -> dict[str, str]:
    """Return a colour as a variable of the page; one mixed with white becomes the colour with an opacity."""
    red, green, blue = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    if max(red, green, blue) - min(red, green, blue) < 0.02:
        name = next(name for end, name in GREYS if green <= end)
        if on_text and name in {"line", "mid", "rule"}:
            name = "soft"
        return {key: f"var(--{name},{color})"}
    for place, hue in enumerate(HUES):
        strength = _strength((red, green, blue), hue)
        if strength is None:
            continue
        named = {key: f"var(--{'t' if on_text else 'm'}{place},{hue})"}
        return named if strength == 1.0 else named | {f"{key}-opacity": f"{strength:.2f}"}
    return {key: color}


def _strength(color: tuple[float, float, float], hue: str) -> float | None:
    """Return the share of the hue in a mixture with white, or None for another colour."""
    full = [int(hue[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    darkest = min(range(3), key=full.__getitem__)
    share = (1.0 - color[darkest]) / (1.0 - full[darkest])
    mixed = [1.0 - share * (1.0 - channel) for channel in full]
    if max(abs(one - other) for one, other in zip(mixed, color, strict=True)) > 0.008:
        return None
    return 1.0 if share > 0.99 else share


def _short(key: str, value: str) -> str:
    if key == "d":
        return short_path(value)
    return (
        LONG_NUMBER.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), value)
        if key in NUMERIC
        else value
    )


def _referenced(root: Element) -> set[str]:
    found: set[str] = set()
    for element in root.iter():
        found |= {match for value in element.attrib.values() for match in REFERENCE.findall(value)}
        found |= {value[1:] for key, value in element.attrib.items() if key == "href"}
    return found


def _prune(parent: Element, referenced: set[str]) -> None:
    """Remove metadata, styles, invisible elements, and unused groups and ids."""
    kept: list[Element] = []
    for child in parent:
        _prune(child, referenced)
        if child.get("id") not in referenced:
            child.attrib.pop("id", None)
        if child.tag in {"metadata", "style"} or _invisible(child):
            continue
        if child.tag == "g" and not child.attrib:
            kept.extend(child)
        elif len(child) or child.tag not in {"g", "defs"}:
            kept.append(child)
    parent[:] = []
    for child in kept:
        if len(parent) and _alike(parent[-1], child):
            parent[-1].set("d", parent[-1].attrib["d"] + child.attrib["d"])
        else:
            parent.append(child)


def _alike(one: Element, other: Element) -> bool:
    """Return whether two shapes, such as the bars of a histogram, can be one path: opaque, without an outline."""
    same = {key: value for key, value in one.attrib.items() if key != "d"}
    opaque = same.get("fill", "none") != "none" and "stroke" not in same and not any("opacity" in key for key in same)
    paths = one.tag == other.tag == "path" and "id" not in same
    return paths and opaque and same == {key: value for key, value in other.attrib.items() if key != "d"}


def _invisible(element: Element) -> bool:
    unpainted = element.get("fill") == "none" and element.get("stroke", "none") == "none"
    return element.get("opacity") == "0" or (unpainted and element.tag in {"path", "rect"})


def _ids(root: Element) -> Iterator[str]:
    for element in root.iter():
        if "id" in element.attrib:
            yield element.attrib["id"]


def _renamed(value: str, names: dict[str, str]) -> str:
    if value in names:
        return names[value]
    if value.startswith("#") and value[1:] in names:
        return f"#{names[value[1:]]}"
    return REFERENCE.sub(lambda match: f"url(#{names.get(match[1], match[1])})", value)


def _allowed(key: str, value: str) -> bool:
    local = value.startswith("#") if key == "href" else "url(" not in REFERENCE.sub("", value)
    return key in ATTRIBUTES and local


def _writable(text: str) -> str:
    """Return text without the characters that XML does not allow."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", text)
