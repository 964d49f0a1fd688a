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

function groupOf(group, data, tell) {
  const made = document.createElementNS(SVG, "g");
  const title = document.createElementNS(SVG, "title");
  title.textContent = group.title;
  if (group.title) made.append(title);
  made.append(...group.shapes.map(shapeOf));
  if (group.key) {
    made.classList.add("key", "button");
    made.classList.toggle("selected", group.key === data.selected);
    made.setAttribute("tabindex", "0");
    made.setAttribute("role", "button");
    made.setAttribute("aria-label", group.title);
    made.onclick = () => tell(group.key);
    made.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      tell(group.key);
    };
  }
  return made;
}

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const root = parentElement.querySelector(".picture");
  const [red, green, blue] = (getComputedStyle(root).backgroundColor.match(/[\d.]+/g) || [255, 255, 255]).map(Number);
  const isDark = 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  root.classList.toggle("dark", isDark);
  root.classList.toggle("light", !isDark);
  root.setAttribute("aria-label", data.label);
  const made = document.createElementNS(SVG, "svg");
  made.setAttribute("width", String(data.width));
  made.setAttribute("height", String(data.height));
  made.append(...data.groups.map((group) => groupOf(group, data, (key) => setTriggerValue("picked", key))));
  root.replaceChildren(made);
  return () => {};
}
