// Lines of styled words; those that lead somewhere are buttons. Every text in them only ever becomes `textContent`.

function wordsOf(runs) {
  return runs.map(([style, words]) => {
    const run = document.createElement("span");
    if (style) run.className = style;
    run.textContent = words;
    return run;
  });
}

function lineOf(line) {
  const made = document.createElement(line.place ? "button" : "div");
  made.className = "line";
  made.append(...wordsOf(line.runs));
  if (line.folds) {
    const indent = made.textContent.search(/\S|$/);
    made.classList.add("folds");
    made.style.paddingInlineStart = `${indent}ch`;
    made.style.textIndent = `-${indent}ch`;
  }
  if (!made.textContent) made.textContent = " ";
  if (line.place) {
    made.type = "button";
    made.onclick = () => following().go(line.place);
  }
  const item = document.createElement("div");
  item.setAttribute("role", "listitem");
  item.append(made);
  return item;
}

// Up and down go from one line that leads somewhere to the next.
function walk(event) {
  const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
  const stops = [...event.currentTarget.querySelectorAll("button")];
  const next = stops[stops.indexOf(event.target) + by];
  if (next) next.focus();
  event.preventDefault();
  event.stopPropagation();
}

const shown = new WeakMap();

function show(root, data) {
  const said = JSON.stringify(data.lines);
  if (shown.get(root) === said) return;
  shown.set(root, said);
  root.replaceChildren(...data.lines.map(lineOf));
}

export default function (component) {
  const { parentElement, data } = component;
  const root = parentElement.querySelector(".lines");
  const [red, green, blue] = (getComputedStyle(root).backgroundColor.match(/[\d.]+/g) || [255, 255, 255]).map(Number);
  const isDark = 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  root.classList.toggle("dark", isDark);
  root.classList.toggle("light", !isDark);
  root.classList.toggle("wraps", data.wraps);
  root.setAttribute("aria-label", data.label);
  root.onkeydown = walk;
  show(root, data);
  following().add(root, data, (fresh) => show(root, fresh));
  return () => {};
}
