// A run as it happens: phases with bars, the best loss so far, groups or lattice as they grow, and what comes after the end.
import { drawGroups, drawNodes } from "./growing.js";
const number = new Intl.NumberFormat("en");

export function follow(place, say) {
  const list = place.querySelector("#phases");
  list.replaceChildren();
  const source = new EventSource(place.dataset.events);
  const losses = [];
  let now = null, began = 0;

  const row = (name) => {
    const item = document.createElement("li");
    const parts = ["b", "progress", "span", "small"].map((tag) => document.createElement(tag));
    item.append(...parts);
    parts[0].textContent = name;
    parts[1].setAttribute("aria-label", name);
    list.append(item);
    return { item, name, bar: parts[1], note: parts[2], time: parts[3], total: null };
  };
  const start = (event) => {
    if (!now || now.name !== event.phase || now.item.classList.contains("ended")) { now = row(event.phase); began = event.at; say(event.phase); }
    const heading = place.querySelector("[data-heading]");
    if (heading) heading.textContent = "Working";
    now.item.classList.add("now");
    now.total = event.total;
    if (event.total) { now.bar.max = event.total; now.bar.value = 0; }
  };
  const advance = (event) => {
    if (!now) return;
    if (now.total) now.bar.value = event.done;
    const spent = event.at - began, left = now.total && event.done ? spent * (now.total / event.done - 1) : null;
    now.note.textContent = number.format(event.done) + (now.total ? " of " + number.format(now.total) : "") + (left !== null && left > 2 ? `, about ${Math.ceil(left)} s left` : "");
  };
  const finish = (event) => {
    if (!now) return;
    now.item.classList.remove("now"); now.item.classList.add("ended");
    now.bar.max = 1; now.bar.value = 1;
    now.note.textContent = event.note || "";
    now.time.textContent = `${(event.at - began).toFixed(2)} s`;
  };
  const tell = { start, advance, finish, best: (event) => fall(place, losses, event), groups: (event) => drawGroups(place, event), nodes: (event) => drawNodes(place, event) };
  source.addEventListener("progress", (message) => { const event = JSON.parse(message.data); if (tell[event.kind]) tell[event.kind](event); });
  source.addEventListener("end", (message) => {
    source.close();
    const status = JSON.parse(message.data).status;
    say(status === "done" ? "The run is done" : `The run is ${status}`);
    location.replace(status === "done" && place.dataset.after.endsWith("lattice") ? place.dataset.after : location.href.split("#")[0]);
  });
}

function fall(place, losses, event) {
  const figure = place.querySelector("#falling");
  if (!figure) return;
  losses.push([event.at, event.loss]);
  figure.classList.remove("hidden");
  const last = Math.max(losses[losses.length - 1][0], 0.1), top = Math.max(...losses.map((l) => l[1])) || 1;
  const at = ([time, loss]) => `${(10 + 540 * time / last).toFixed(1)} ${(130 - 110 * loss / top).toFixed(1)}`;
  figure.querySelector("path").setAttribute("d", "M" + losses.map(at).join("L"));
  figure.querySelector("figcaption b").textContent = (100 * event.loss).toFixed(2) + "%";
}
