"""An accessibility check of our own: labels, contrast, focus, landmarks, names, ids."""

CHECK = """() => {
  const found = [];
  const say = (what, element) => found.push(what + ": " + element.outerHTML.slice(0, 120));
  const shown = (e) => e.checkVisibility({ checkOpacity: false, checkVisibilityCSS: true }) && e.getClientRects().length;
  const name = (e) => (e.getAttribute("aria-label") || (e.labels && [...e.labels].map((l) => l.textContent).join(" ")) || e.textContent || e.title || e.alt || "").trim();
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) if (shown(e) && !name(e)) say("no label", e);
  for (const e of document.querySelectorAll("button, a[href], summary")) if (shown(e) && !name(e) && !e.querySelector("[aria-label], img[alt], title")) say("no name", e);
  for (const e of document.querySelectorAll("img")) if (!e.hasAttribute("alt")) say("no alt", e);
  for (const e of document.querySelectorAll("svg")) if (shown(e) && e.getAttribute("aria-hidden") !== "true" && !e.closest("[aria-hidden=true]") && !e.getAttribute("aria-label") && !e.querySelector("title") && !e.closest(".keys, .legend")) say("svg without name", e);
  const ids = {};
  for (const e of document.querySelectorAll("[id]")) if (e.id) { if (ids[e.id]) say("id twice", e); ids[e.id] = true; }
  for (const tag of ["main", "h1"]) if (document.querySelectorAll(tag).length !== 1) found.push("not one " + tag);
  if (!document.documentElement.lang) found.push("no language");
  for (const e of document.querySelectorAll("table")) if (shown(e) && e.querySelector("thead") && !e.querySelector("thead th[scope=col]")) say("heads without scope", e);
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) say("tabindex above 0", e);
  const light = (c) => { const v = c.slice(0, 3).map((x) => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const parse = (text) => { const m = text.match(/[\\d.]+/g).map(Number); return m.length === 3 ? [...m, 1] : m; };
  const ground = (e) => { for (let at = e; at; at = at.parentElement) { const c = parse(getComputedStyle(at).backgroundColor); if (c[3] > 0.95) return c; } return [255, 255, 255, 1]; };
  for (const e of document.querySelectorAll("body *")) {
    const isText = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!isText || !shown(e) || e.closest("svg, :disabled, .hidden, [aria-hidden=true], option, datalist, noscript") || e.matches(":disabled")) continue;
    const style = getComputedStyle(e), a = light(parse(style.color)), b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.5 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) say("contrast " + ratio.toFixed(2), e);
  }
  for (const e of document.querySelectorAll("button, a.button, input[type=number], select")) { const r = e.getBoundingClientRect(); if (shown(e) && r.height && r.height < 24) say("smaller than 24 px", e); }
  if (document.documentElement.scrollWidth > innerWidth + 1) found.push("wider than the window: " + document.documentElement.scrollWidth);
  return found;
}"""

FOCUS = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const s = getComputedStyle(e), zone = e.closest(".drop") ? getComputedStyle(e.closest(".drop").querySelector(".zone")) : null;
  const isSeen = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 || zone && zone.outlineStyle !== "none";
  return { tag: e.tagName, name: e.name || e.textContent.trim().slice(0, 30), isSeen };
}"""


def problems_of(page):
    """What is wrong with the page that a browser shows."""
    return page.evaluate(CHECK)
