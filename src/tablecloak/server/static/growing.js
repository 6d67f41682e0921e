// What a search has found so far: groups as rectangles of their size, or rows of a lattice, safe and unsafe.
const WIDTH = 800, HEIGHT = 200, SVG = "http://www.w3.org/2000/svg";
const number = new Intl.NumberFormat("en");

function draw(place, boxes, caption) {
  const figure = place.querySelector("#growing");
  if (!figure) return;
  figure.classList.remove("hidden");
  figure.querySelector("g").replaceChildren(...boxes.map(([kind, x, y, width, height]) => {
    const box = document.createElementNS(SVG, "rect");
    const places = { class: kind, x, y, width: Math.max(0, width - 1), height: Math.max(0, height - 1) };
    for (const [name, value] of Object.entries(places)) box.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value);
    return box;
  }));
  figure.querySelector("title").textContent = caption;
  figure.querySelector("figcaption").textContent = caption;
}

export function drawGroups(place, event) {
  const most = event.sizes[0] || 1, areas = event.rest ? [...event.sizes, event.rest] : event.sizes;
  const shade = (size) => 1 + Math.min(4, Math.floor(Math.log2(most / size)));
  const boxes = squarified(areas).map((box, i) => [i < event.sizes.length ? `group shade${shade(event.sizes[i])}` : "group rest", ...box]);
  draw(place, boxes, `${number.format(event.groups)} groups so far, the largest of ${number.format(most)} records`);
}

// Falling areas in rows of near-squares, as the treemap of a finished run has them.
function squarified(areas) {
  const scale = WIDTH * HEIGHT / areas.reduce((sum, area) => sum + area, 0), placed = [];
  let left = areas.map((area) => area * scale), x = 0, y = 0;
  while (left.length) {
    const isWide = WIDTH - x >= HEIGHT - y, side = Math.max(0.01, Math.min(WIDTH - x, HEIGHT - y)), row = left.slice(0, rowLength(left, side));
    left = left.slice(row.length);
    const thick = row.reduce((sum, area) => sum + area, 0) / side;
    let at = 0;
    for (const area of row) { const long = area / thick; placed.push(isWide ? [x, y + at, thick, long] : [x + at, y, long, thick]); at += long; }
    if (isWide) x += thick; else y += thick;
  }
  return placed;
}
function rowLength(areas, side) {
  let worst = Infinity, total = 0;
  for (let n = 0; n < areas.length; n++) {
    total += areas[n];
    const ratio = Math.max(side ** 2 * areas[0] / total ** 2, total ** 2 / (side ** 2 * areas[n]));
    if (ratio > worst) return n;
    worst = ratio;
  }
  return areas.length;
}

export function drawNodes(place, event) {
  const widest = Math.max(...event.rows.map((row) => row[0] + row[1] + row[2])), high = HEIGHT / event.rows.length, boxes = [];
  event.rows.forEach((row, i) => {
    const wide = WIDTH * (row[0] + row[1] + row[2]) / widest;
    let x = (WIDTH - wide) / 2;
    ["safe", "unsafe", "unknown"].forEach((kind, k) => { const part = WIDTH * row[k] / widest; if (part) boxes.push([kind, x, HEIGHT - (i + 1) * high, part, high]); x += part; });
  });
  const sums = [0, 1, 2].map((k) => event.rows.reduce((sum, row) => sum + row[k], 0));
  draw(place, boxes, `Lattice so far: ${number.format(sums[0])} nodes safe, ${number.format(sums[1])} unsafe, ${number.format(sums[2])} not known`);
}
