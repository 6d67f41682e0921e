// What all pages share: theme, live forms, the status light, the policy drawer, keyboard.
import { follow } from "./events.js";
import { drop } from "./upload.js";
import { tree } from "./tree.js";

const root = document.documentElement;
root.classList.add("js");
const csrf = () => document.querySelector("meta[name=csrf]").content;
const say = (text) => { document.getElementById("live").textContent = text; };

// Theme: what the system says, until somebody chooses.
const theme = localStorage.getItem("theme");
if (theme) root.dataset.theme = theme;
function switchTheme() {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

// Live forms: the server answers with a whole page, of which the changed parts are taken over.
const PARTS = ["top", "rail", "main", "side"];
let waiting = 0;

function take(html, url) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const opened = [...document.querySelectorAll("#main details[open]")].map(pathOf);
  const focus = document.activeElement && document.activeElement !== document.body ? keyOf(document.activeElement) : null;
  for (const id of PARTS) {
    const mine = document.getElementById(id), theirs = page.getElementById(id);
    if (mine && theirs) mine.replaceWith(theirs);
  }
  document.title = page.title;
  const meta = page.querySelector("meta[name=csrf]");
  if (meta) document.querySelector("meta[name=csrf]").content = meta.content;
  for (const path of opened) {
    const details = [...document.querySelectorAll("#main details")].find((d) => pathOf(d) === path);
    if (details && !details.classList.contains("why")) details.open = true;
  }
  if (focus) refocus(focus);
  if (url && new URL(url).pathname !== location.pathname) { history.pushState({}, "", url); shown = location.pathname + location.search; }
  ready();
}

const pathOf = (details) => details.querySelector("summary").textContent.trim() + "|" + (details.closest("form") ? details.closest("form").getAttribute("action") : "");
const keyOf = (element) => ({ name: element.name, value: element.type === "radio" || element.type === "submit" ? element.value : null, label: element.getAttribute("aria-label"), action: element.form ? element.form.getAttribute("action") : null, at: element.form && element.form.elements.at ? element.form.elements.at.value : null });
function refocus(key) {
  const control = [...document.querySelectorAll("input, select, button, textarea")].find((e) => e.name === key.name && e.getAttribute("aria-label") === key.label && (e.form ? e.form.getAttribute("action") : null) === key.action && (key.at === null || (e.form.elements.at && e.form.elements.at.value === key.at)) && (key.value === null || e.value === key.value));
  if (control && !control.disabled) control.focus({ preventScroll: true });
  else document.getElementById("main").focus({ preventScroll: true });
}

// One form after the other: what is sent while another is on its way is about the project as that one leaves it.
let before = Promise.resolve(), n_open = 0;
function send(form, button) {
  const data = new FormData(form, button && button.name ? button : undefined);
  const said = button && button.dataset.said;
  root.setAttribute("data-busy", "");
  n_open += 1;
  before = before.then(() => exchange(form, data, said)).catch(() => say("That did not work; is the server still there?")).finally(() => { n_open -= 1; if (!n_open) root.removeAttribute("data-busy"); });
  return before;
}
const version = () => { const input = document.querySelector("#top input[name=version]"); return input ? input.value : null; };
async function exchange(form, data, said) {
  if (data.has("version") && !form.isConnected && version()) data.set("version", version());
  const mine = ++waiting;
  // an input called action hides the property of that name
  const answer = await fetch(form.getAttribute("action"), { method: "POST", body: data, headers: { "X-CSRF-Token": csrf() } });
  const html = await answer.text();
  if (mine !== waiting) return;
  const dialog = form.closest("dialog");
  if (dialog) { await drawerTake(dialog, html, answer.ok); return; }
  take(html, answer.url);
  const alert = document.querySelector("#main > .alert");
  if (alert) { alert.scrollIntoView({ block: "nearest" }); say(alert.textContent.trim()); } else say(said || "Saved");
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) { event.preventDefault(); return; }
  if (!form.hasAttribute("data-live")) return;
  event.preventDefault();
  send(form, event.submitter);
});
document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form && form.hasAttribute("data-auto") && form.reportValidity()) send(form, null);
});

// The drawer: the policy beside any step.
let drawer = null;
async function openDrawer(link) {
  drawer = document.createElement("dialog");
  drawer.className = "drawer";
  drawer.setAttribute("aria-label", "policy.yaml");
  document.body.append(drawer);
  drawer.addEventListener("close", () => { drawer.remove(); drawer = null; });
  drawer.addEventListener("click", (event) => { if (event.target === drawer) drawer.close(); });
  drawer.showModal();
  const answer = await fetch(link.href);
  await drawerTake(drawer, await answer.text(), false);
}
async function drawerTake(dialog, html, isSaved) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const main = page.getElementById("main");
  dialog.replaceChildren(...main.childNodes);
  const close = document.createElement("button");
  close.type = "button"; close.className = "close quiet"; close.textContent = "Close"; close.addEventListener("click", () => dialog.close());
  dialog.append(close);
  const area = dialog.querySelector("textarea");
  if (area) { area.id = "drawer-text"; const copy = dialog.querySelector("[data-copy]"); if (copy) copy.dataset.copy = "#drawer-text"; area.focus(); }
  if (isSaved && !dialog.querySelector(".alert")) {
    const answer = await fetch(location.href);
    take(await answer.text(), null);
    say("Saved");
  }
}

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-theme-switch], [data-drawer], [data-copy], [data-toggle], [data-suggest]");
  if (!target) { for (const open of document.querySelectorAll("details.why[open]")) if (!open.contains(event.target)) open.open = false; return; }
  if (target.matches("[data-theme-switch]")) switchTheme();
  if (target.matches("[data-drawer]") && !event.ctrlKey && !event.metaKey) { event.preventDefault(); openDrawer(target); }
  if (target.matches("[data-copy]")) navigator.clipboard.writeText(document.querySelector(target.dataset.copy).value).then(() => { target.textContent = "Copied"; say("Copied"); });
  if (target.matches("[data-suggest]")) for (const select of target.form.querySelectorAll("select[data-suggested]")) if (!select.value) select.value = select.dataset.suggested;
  if (target.matches("[data-toggle]")) {
    const boxes = [...target.form.elements[target.dataset.toggle]];
    const isOn = !boxes.every((box) => box.checked);
    boxes.forEach((box) => { box.checked = isOn; });
    send(target.form, null);
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const open of document.querySelectorAll("details.why[open]")) { open.open = false; open.querySelector("summary").focus(); }
  const at = document.activeElement, isTyping = at && (at.tagName === "TEXTAREA" || (at.tagName === "INPUT" && /^(text|number|search)$/.test(at.type)));
  if (event.altKey && /^[1-8]$/.test(event.key)) { const link = document.querySelectorAll(".rail a")[event.key - 1]; if (link) { event.preventDefault(); link.click(); } }
  if (!isTyping && (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
    const button = document.querySelector(`.tools button[value=${event.shiftKey ? "redo" : "undo"}]`);
    if (button && !button.disabled) { event.preventDefault(); button.click(); }
  }
});
let shown = location.pathname + location.search;
addEventListener("popstate", () => { if (location.pathname + location.search !== shown) location.reload(); });

// Pieces of single pages.
async function light() {
  const place = document.getElementById("light");
  if (!place || place.hasAttribute("data-asked")) return;
  place.setAttribute("data-asked", "");
  try {
    do {
      const answer = await fetch(place.dataset.light);
      const html = answer.ok ? await answer.text() : null;
      if (html && place.isConnected) place.innerHTML = html;
    } while (place.isConnected && place.querySelector("[data-again]"));
    if (place.isConnected && place.hasAttribute("data-rail")) await rail();
  } catch { /* the page is being left, or the server has ended: the next page asks again */ }
}
// What takes a while on large tables comes after its page.
async function piece(place) {
  const address = place.dataset.piece;
  place.removeAttribute("data-piece");
  try {
    const answer = await fetch(address);
    const html = answer.ok ? await answer.text() : null;
    if (html && place.isConnected) place.innerHTML = html;
  } catch { /* as above */ }
}
async function rail() {
  const answer = await fetch(location.href);
  const mine = document.getElementById("rail"), theirs = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("rail");
  if (mine && theirs) mine.replaceWith(theirs);
}
function levels(section) {
  const slider = section.querySelector("input[type=range]");
  const show = () => { for (const level of section.querySelectorAll(".level")) level.classList.toggle("on", level.dataset.level === slider.value); const shown = section.querySelector(".level.on p"); if (shown) slider.setAttribute("aria-valuetext", shown.textContent); };
  slider.addEventListener("input", show);
  show();
}
function kinds(form) {
  const show = () => { const chosen = form.querySelector("input[name=kind]:checked"); for (const part of form.querySelectorAll(".of-kind")) { const isOn = chosen && part.dataset.kind === chosen.value; part.classList.toggle("on", isOn); for (const input of part.querySelectorAll("input, select")) input.disabled = !isOn; } };
  form.addEventListener("change", show);
  show();
}
function together() {
  const boxes = [...document.querySelectorAll("[data-together]")];
  for (const box of boxes) box.addEventListener("scroll", () => { for (const other of boxes) if (other !== box && Math.abs(other.scrollLeft - box.scrollLeft) > 1) other.scrollLeft = box.scrollLeft; }, { passive: true });
}
let lastMarked = null;
document.addEventListener("click", (event) => {
  const box = event.target;
  if (!box.matches || !box.matches("[data-mark-all], input[type=checkbox][form]")) return;
  const all = box.dataset.markAll, boxes = [...box.form.elements].filter((e) => e.type === "checkbox" && (all ? e.name === all : e.name === box.name));
  if (all) for (const each of boxes) each.checked = box.checked;
  else if (event.shiftKey && lastMarked && boxes.includes(lastMarked)) {
    const [from, to] = [boxes.indexOf(lastMarked), boxes.indexOf(box)].sort((x, y) => x - y);
    for (const each of boxes.slice(from, to + 1)) each.checked = box.checked;
  }
  if (!all) lastMarked = box;
  const count = box.form.querySelector("[data-count]"), n = boxes.filter((each) => each.checked).length;
  if (count) count.textContent = n ? `${n} marked` : "marked";
});
function ready() {
  light();
  document.querySelectorAll("[data-piece]").forEach(piece);
  document.querySelectorAll("[data-levels]").forEach(levels);
  document.querySelectorAll("form.kinds").forEach(kinds);
  document.querySelectorAll("[data-drop]").forEach((form) => drop(form, csrf));
  document.querySelectorAll("[data-tree]").forEach((list) => tree(list, send));
  document.querySelectorAll("[data-events]").forEach((place) => follow(place, say));
  together();
}
ready();
root.setAttribute("data-ready", "");
