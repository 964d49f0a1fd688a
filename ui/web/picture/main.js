// Draws the shapes that Python describes as SVG. Text is only ever assigned to `textContent`.

const SVG = "http://www.w3.org/2000/svg";
const NUMBERS = {
  rect: ["x", "y", "width", "height", "rx"],
  line: ["x1", "y1", "x2", "y2"],
  text: ["x", "y"],
  path: [],
};

function shapeOf(shape) {
  const node = document.createElementNS(SVG, shape.tag);
  for (const name of NUMBERS[shape.tag]) if (typeof shape[name] === "number") node.setAttribute(name, String(shape[name]));
  if (shape.tag === "path" && /^[MLC0-9 .,-]*$/.test(shape.d)) node.setAttribute("d", shape.d);
  if (shape.tag === "text") node.textContent = shape.text;
  if (shape.anchor === "middle" || shape.anchor === "end") node.setAttribute("text-anchor", shape.anchor);
  node.setAttribute("class", shape.style);
  return node;
}

// Users of speech input say the visible text, so the accessible name contains it too.
function nameOf(group) {
  const words = group.shapes.filter((shape) => shape.tag === "text").map((shape) => shape.text);
  if (words.some((word) => word.endsWith("…"))) return `${words.join(" ")}: ${group.title}`;
  return words.length > 1 ? `${group.title} ${words.join(" ")}` : group.title;
}

function groupOf(group, data) {
  const node = document.createElementNS(SVG, "g");
  const title = document.createElementNS(SVG, "title");
  title.textContent = group.title;
  if (group.title) node.append(title);
  node.append(...group.shapes.flatMap((shape) => [shapeOf(shape), " "])); // spaces separate the words for screen readers
  if (group.location) {
    const isSelected = group.key === data.selected;
    node.classList.add("key", "button");
    node.classList.toggle("selected", isSelected);
    if (isSelected) node.setAttribute("aria-current", "true");
    node.dataset.key = group.key;
    node.setAttribute("tabindex", "-1");
    node.setAttribute("role", "button");
    node.setAttribute("aria-label", nameOf(group));
    node.dataset.location = JSON.stringify(group.location);
  }
  return node;
}

// One stop for the Tab key; from there, arrow keys go from one clickable group to the next, and Enter clicks it.
function walk(root, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const stops = [...root.querySelectorAll("g.button")];
  const index = stops.indexOf(event.target.closest("g.button"));
  const next = { ArrowRight: index + 1, ArrowDown: index + 1, ArrowLeft: index - 1, ArrowUp: index - 1, Home: 0, End: stops.length - 1 }[event.key];
  if ((event.key === "Enter" || event.key === " ") && index >= 0) stops[index].dispatchEvent(new MouseEvent("click", { bubbles: true }));
  else if (next !== undefined && stops[next]) {
    stops[next].focus();
    stop(root, stops[next]);
  } else if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
}

function stop(root, group) {
  for (const other of root.querySelectorAll('g[tabindex="0"]')) other.setAttribute("tabindex", "-1");
  if (group) group.setAttribute("tabindex", "0");
}

// Scroll the selected group into view, horizontally only.
function reveal(root) {
  const here = root.querySelector("g.selected");
  if (!here) return;
  const [box, own] = [here.getBoundingClientRect(), root.getBoundingClientRect()];
  if (box.left >= own.left && box.right <= own.right) return;
  root.scrollLeft += box.left - own.left - own.width / 2 + box.width / 2;
}

// Select another group in the same picture; the keyboard focus stays where it is.
function choose(root, key) {
  for (const group of root.querySelectorAll("g.button")) {
    const isSelected = group.dataset.key === key;
    group.classList.toggle("selected", isSelected);
    if (isSelected) group.setAttribute("aria-current", "true");
    else group.removeAttribute("aria-current");
    if (isSelected && !root.querySelector("g:focus")) stop(root, group);
  }
  reveal(root);
}

const shown = new WeakMap();

function show(root, data) {
  const state = JSON.stringify([data.width, data.height, data.groups, data.caption]);
  if (shown.get(root) === state) {
    choose(root, data.selected);
    return;
  }
  shown.set(root, state);
  root.setAttribute("aria-label", data.label);
  root.classList.toggle("empty", !data.groups.length);
  const focused = root.querySelector("g:focus");
  const node = root.querySelector("svg") || root.appendChild(document.createElementNS(SVG, "svg"));
  node.setAttribute("width", String(data.width));
  node.setAttribute("height", String(data.height));
  renew(node, data.groups.map((group) => groupOf(group, data)));
  root.nextElementSibling.textContent = data.caption;
  const groups = [...root.querySelectorAll("g.button")];
  const again = focused && groups.find((group) => group.dataset.key === focused.dataset.key);
  stop(root, again || groups.find((group) => group.dataset.key === data.selected) || groups[0]);
  if (again) again.focus({ preventScroll: true });
  reveal(root);
}

export default function (component) {
  const { parentElement, data } = component;
  const root = parentElement.querySelector(".picture");
  root.onkeydown = (event) => walk(root, event);
  root.onclick = (event) => {
    const group = event.target.closest("[data-location]");
    if (group) following().go(data.trace, JSON.parse(group.dataset.location));
  };
  show(root, data);
  following().add(root, data, (fresh) => show(root, fresh));
  return () => {};
}
