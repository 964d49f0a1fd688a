// Shapes as SVG; which shapes and where is said by Python, and every text only ever becomes `textContent`.

const SVG = "http://www.w3.org/2000/svg";
const NUMBERS = {
  rect: ["x", "y", "width", "height", "rx"],
  line: ["x1", "y1", "x2", "y2"],
  text: ["x", "y"],
  path: [],
};

function shapeOf(said) {
  const made = document.createElementNS(SVG, said.tag);
  for (const name of NUMBERS[said.tag]) if (typeof said[name] === "number") made.setAttribute(name, String(said[name]));
  if (said.tag === "path" && /^[MLC0-9 .,-]*$/.test(said.d)) made.setAttribute("d", said.d);
  if (said.tag === "text") made.textContent = said.text;
  if (said.anchor === "middle" || said.anchor === "end") made.setAttribute("text-anchor", said.anchor);
  made.setAttribute("class", said.style);
  return made;
}

// Who speaks to the machine says what is to be seen: its words stand in the name too.
function nameOf(group) {
  const words = group.shapes.filter((one) => one.tag === "text").map((one) => one.text);
  if (words.some((one) => one.endsWith("…"))) return `${words.join(" ")}: ${group.title}`;
  return words.length > 1 ? `${group.title} ${words.join(" ")}` : group.title;
}

function groupOf(group, data) {
  const made = document.createElementNS(SVG, "g");
  const title = document.createElementNS(SVG, "title");
  title.textContent = group.title;
  if (group.title) made.append(title);
  made.append(...group.shapes.flatMap((one) => [shapeOf(one), " "])); // the gaps part its words for who hears them
  if (group.place) {
    const isSelected = group.key === data.selected;
    made.classList.add("key", "button");
    made.classList.toggle("selected", isSelected);
    if (isSelected) made.setAttribute("aria-current", "true");
    made.dataset.key = group.key;
    made.setAttribute("tabindex", "-1");
    made.setAttribute("role", "button");
    made.setAttribute("aria-label", nameOf(group));
    made.onclick = () => following().go(group.place);
  }
  return made;
}

// One stop for the Tab key; from there arrows lead from one part that can be clicked to the next, Enter clicks it.
function walk(root, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const stops = [...root.querySelectorAll("g.button")];
  const at = stops.indexOf(event.target.closest("g.button"));
  const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1 }[event.key];
  if ((event.key === "Enter" || event.key === " ") && at >= 0) stops[at].dispatchEvent(new MouseEvent("click"));
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

// Bring what is selected into view, sideways only.
function reveal(root) {
  const here = root.querySelector("g.selected");
  if (!here) return;
  const [box, own] = [here.getBoundingClientRect(), root.getBoundingClientRect()];
  if (box.left >= own.left && box.right <= own.right) return;
  root.scrollLeft += box.left - own.left - own.width / 2 + box.width / 2;
}

// Another part is selected in the same picture; who walks through it with keys stays where he is.
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
  const said = JSON.stringify([data.width, data.height, data.groups, data.caption]);
  if (shown.get(root) === said) {
    choose(root, data.selected);
    return;
  }
  shown.set(root, said);
  root.setAttribute("aria-label", data.label);
  root.classList.toggle("empty", !data.groups.length);
  const focused = root.querySelector("g:focus");
  const made = document.createElementNS(SVG, "svg");
  made.setAttribute("width", String(data.width));
  made.setAttribute("height", String(data.height));
  made.append(...data.groups.map((group) => groupOf(group, data)));
  root.replaceChildren(made);
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
  const [red, green, blue] = (getComputedStyle(root).backgroundColor.match(/[\d.]+/g) || [255, 255, 255]).map(Number);
  const isDark = 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  for (const element of [root, root.nextElementSibling]) {
    element.classList.toggle("dark", isDark);
    element.classList.toggle("light", !isDark);
  }
  root.onkeydown = (event) => walk(root, event);
  show(root, data);
  following().add(root, data, (fresh) => show(root, fresh));
  return () => {};
}
