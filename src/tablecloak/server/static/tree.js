// The tree of a hierarchy: drag a node onto a group to move it, click values to mark them, forms for the rest.
export function tree(list, send) {
  const form = document.getElementById("tree-form"), groups = document.getElementById("group-form");
  const labels = document.getElementById("labels"), action = form.elements.action;
  labels.replaceChildren(...[...list.querySelectorAll(".node")].map((node) => { const option = document.createElement("option"); option.value = node.dataset.label; return option; }));

  const show = () => { for (const label of form.querySelectorAll("[data-for]")) { const isOn = label.dataset.for.split(" ").includes(action.value); label.classList.toggle("off", !isOn); label.querySelector("input").required = isOn; } };
  action.addEventListener("change", show);
  show();

  const apply = (values) => { for (const [name, value] of Object.entries(values)) form.elements[name].value = value; show(); send(form, null); };
  let dragged = null;
  list.addEventListener("dragstart", (event) => { dragged = event.target.closest(".node"); event.dataTransfer.effectAllowed = "move"; event.dataTransfer.setData("text/plain", dragged.dataset.label); });
  list.addEventListener("dragover", (event) => { const group = event.target.closest(".group"); if (group && dragged && group !== dragged && !dragged.contains(group)) { event.preventDefault(); mark(group); } });
  list.addEventListener("dragleave", () => mark(null));
  list.addEventListener("drop", (event) => { const group = event.target.closest(".group"); mark(null); if (!group || !dragged || dragged.contains(group)) return; event.preventDefault(); apply({ action: "move", label: dragged.dataset.label, parent: group.dataset.label, new_label: "" }); });
  function mark(group) { for (const old of list.querySelectorAll(".over")) old.classList.remove("over"); if (group) group.classList.add("over"); }

  list.addEventListener("click", (event) => {
    const node = event.target.closest(".node");
    if (!node || !event.target.closest(".tag")) return;
    form.elements.label.value = node.dataset.label;
    if (node.classList.contains("leaf")) { const isOn = node.classList.toggle("marked"); node.querySelector(".tag").setAttribute("aria-pressed", isOn); step(node.querySelector(".tag")); count(); }
  });

  // One stop for Tab; arrows go on from there, through groups that are open.
  const stops = () => [...list.querySelectorAll(".tag")].filter((tag) => tag.checkVisibility());
  function step(to) { for (const tag of list.querySelectorAll(".leaf > .tag")) tag.tabIndex = tag === to ? 0 : -1; }
  const first = list.querySelector(".leaf > .tag");
  if (first) step(first);
  list.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], tag = event.target.closest(".tag");
    if (!by || !tag) return;
    event.preventDefault();
    const all = stops(), next = all[all.indexOf(tag) + by];
    if (next) { if (next.parentElement.classList.contains("leaf")) step(next); next.focus(); }
  });
  function count() {
    const marked = [...list.querySelectorAll(".marked")];
    for (const old of groups.querySelectorAll("input[name=members]")) old.remove();
    for (const node of marked) { const input = document.createElement("input"); input.type = "hidden"; input.name = "members"; input.value = node.dataset.label; groups.append(input); }
    groups.querySelector("[data-marked]").textContent = marked.length ? `${marked.length} marked` : "";
  }
}
