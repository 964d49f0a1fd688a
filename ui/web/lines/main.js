// Lines of styled text; lines with a location are buttons. Text is only ever assigned to `textContent`.

function wordsOf(runs) {
  return runs.map(([style, words]) => {
    const run = document.createElement("span");
    if (style) run.className = style;
    run.textContent = words;
    return run;
  });
}

function lineOf(line, clips) {
  const node = document.createElement(line.location ? "button" : "div");
  node.className = "line";
  const words = wordsOf(line.runs);
  node.classList.add(line.kind);
  if (line.kind === "fact") {
    const value = document.createElement("span");
    value.append(...words.splice(1));
    words.push(value);
  }
  node.append(...words);
  node.title = clips ? node.textContent : "";
  if (!node.textContent) node.textContent = " ";
  if (line.location) {
    node.type = "button";
    node.dataset.location = JSON.stringify(line.location);
  }
  const item = document.createElement("div");
  item.setAttribute("role", "listitem");
  item.append(node);
  return item;
}

// Up and Down move the focus from one button to the next.
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
  const state = JSON.stringify(data.lines);
  if (shown.get(root) === state) return;
  shown.set(root, state);
  renew(root, data.lines.map((line) => lineOf(line, data.clips)));
}

export default function (component) {
  const { parentElement, data } = component;
  const root = parentElement.querySelector(".lines");
  root.classList.toggle("wraps", data.wraps);
  root.classList.toggle("clips", Boolean(data.clips));
  root.setAttribute("aria-label", data.label);
  root.onkeydown = walk;
  root.onclick = (event) => {
    const line = event.target.closest("[data-location]");
    if (line) following().go(data.trace, JSON.parse(line.dataset.location));
  };
  show(root, data);
  following().add(root, data, (fresh) => show(root, fresh));
  return () => {};
}
