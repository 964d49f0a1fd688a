// The dissector: steps, values and faults at the left, the stream at the right, each lighting up the other.

const ROW = 20;
const SIDE = 146; // pixels before the text: number and kind
const LEFT = ["steps", "values", "faults"];

function nextFault(state, direction) {
  const marks = state.parts.flatMap((part) => part.marks);
  if (!marks.length) return null;
  const here = state.look.selected;
  const order = (one) => one.part * 1e12 + one.start;
  const sorted = [...marks].sort((a, b) => order(a) - order(b));
  if (!here) return direction > 0 ? sorted[0] : sorted[sorted.length - 1];
  const found = direction > 0 ? sorted.find((mark) => order(mark) > order(here)) : sorted.findLast((mark) => order(mark) < order(here));
  return found || null;
}

function nextStep(state, direction) {
  const here = state.look.selected;
  const order = (one) => one.part * 1e12 + one.start;
  const steps = state.steps.filter((step) => step.part >= 0);
  if (!here) return steps[0] || null;
  const found = direction > 0 ? steps.find((step) => order(step) > order(here)) : steps.findLast((step) => order(step) < order(here));
  return found || null;
}

// A place as Python gave it, in units of its part; null where that part is not here.
function inUnits(parts, place) {
  if (!place) return null;
  const part = parts.find((one) => one.turn === place.turn && one.part === place.part);
  if (!part) return null;
  return { part: part.index, start: part.offsets.toUnit(place.start), end: part.offsets.toUnit(place.end) };
}

function withUnits(parts, rows) {
  return rows.map((row) => ({ ...row, ...(inUnits(parts, row) || { part: -1, start: 0, end: 0 }) }));
}

class Dissector {
  constructor(root, tell) {
    this.root = root;
    this.tell = tell;
    this.look = { selected: null, blanks: false, chunks: false };
    this.state = { parts: [], steps: [], values: [], faults: [], look: this.look };
    this.pane = "values";
    this.frame();
  }

  frame() {
    const find = (name) => this.root.querySelector(`.${name}`);
    this.status = find("status");
    this.tabs = LEFT.map((name) => {
      const tab = find(`tab-${name}`);
      tab.onclick = () => this.choose(name);
      return tab;
    });
    this.stream = new VirtualList(find("streambox"), ROW, (row) => this.drawRow(row));
    this.left = new VirtualList(find("leftbox"), ROW, (row) => this.drawLeft(row));
    find("blanks").onchange = (event) => this.set("blanks", event.target.checked);
    find("chunks").onchange = (event) => this.set("chunks", event.target.checked);
    this.stream.box.onclick = (event) => this.pick(event);
    this.stream.box.onmousemove = (event) => this.hover(event);
    this.stream.box.onkeydown = (event) => this.key(event);
    this.left.box.onkeydown = (event) => this.keyLeft(event);
    this.watch = new ResizeObserver(() => this.relay());
    this.watch.observe(this.stream.box);
  }

  // Streamlit says its colours, not whether they are dark.
  dress() {
    const [red, green, blue] = (getComputedStyle(this.root).backgroundColor.match(/[\d.]+/g) || [255, 255, 255]).map(Number);
    const isDark = 0.299 * red + 0.587 * green + 0.114 * blue < 128;
    this.root.classList.toggle("dark", isDark);
    this.root.classList.toggle("light", !isDark);
  }

  take(data) {
    this.dress();
    if (data.version !== this.version) {
      this.version = data.version;
      const parts = data.parts.map(prepared);
      const { steps, values, faults } = data;
      this.state = {
        parts,
        look: this.look,
        steps: withUnits(parts, steps),
        values: withUnits(parts, values),
        faults: withUnits(parts, faults),
      };
      this.cells = 0;
      this.pane = data.pane || this.pane;
      this.relay();
    }
    const asked = inUnits(this.state.parts, data.selected);
    const isNew = JSON.stringify(data.selected) !== this.asked;
    this.asked = JSON.stringify(data.selected);
    if (asked && isNew) this.select(asked, false);
    this.choose(this.pane);
  }

  // Rows anew where the width in cells changed.
  relay() {
    const probe = this.root.querySelector(".probe").getBoundingClientRect().width / 100;
    const side = matchMedia("(max-width: 45rem)").matches ? SIDE - 88 : SIDE;
    const cells = Math.floor((this.stream.box.clientWidth - side) / (probe || 8));
    if (cells !== this.cells && this.stream.box.clientWidth) {
      this.cells = cells;
      this.rows = rowsOf(this.state.parts, cells);
      this.stream.show(this.rows);
      if (this.look.selected) this.stream.reveal(rowAt(this.rows, this.look.selected.part, this.look.selected.start));
    } else this.stream.paint();
    this.left.paint();
  }

  drawRow(row) {
    if (row.kind === HEAD) return drawHead(row);
    return row.kind === TEXT ? drawText(row, this.look) : drawSaid(row);
  }

  drawLeft(row) {
    const made = element("button", `item ${row.style || ""}`);
    made.type = "button";
    made.tabIndex = -1;
    made.style.paddingInlineStart = `${0.5 + (row.depth || 0) * 0.9}rem`;
    made.append(...row.runs.map(([style, words]) => element("span", style, words)));
    made.title = row.runs.map(([, words]) => words).join("");
    const { selected } = this.look;
    const isHere = selected && row.part === selected.part && row.start === selected.start && row.end === selected.end;
    if (isHere) made.classList.add("selected");
    if (isHere) made.setAttribute("aria-current", "true");
    if (row.part < 0) made.disabled = true;
    made.onclick = () => this.select(row, true);
    return made;
  }

  choose(name) {
    this.pane = name;
    this.tabs.forEach((tab, index) => tab.setAttribute("aria-selected", String(LEFT[index] === name)));
    const rows = this.state[name];
    this.left.show(rows);
    const at = this.rowOfSelection(rows);
    if (at >= 0) this.left.reveal(at);
  }

  // The innermost row of the left pane that holds the selection.
  rowOfSelection(rows) {
    const here = this.look.selected;
    if (!here) return -1;
    let best = -1;
    rows.forEach((row, index) => {
      const holds = row.part === here.part && row.start <= here.start && here.end <= row.end;
      if (holds && (best < 0 || row.end - row.start <= rows[best].end - rows[best].start)) best = index;
    });
    return best;
  }

  select(place, isOurs) {
    this.look.selected = { part: place.part, start: place.start, end: place.end };
    this.stream.reveal(rowAt(this.rows || [], place.part, place.start));
    this.choose(this.pane);
    const part = this.state.parts[place.part];
    if (!part) return;
    this.status.textContent = factsAt(part, place.start);
    const told = {
      turn: part.turn,
      part: part.part,
      start: part.offsets.toPoint(place.start),
      end: part.offsets.toPoint(place.end),
    };
    if (isOurs) {
      this.asked = JSON.stringify(told);
      this.tell(told);
    }
  }

  place(event) {
    const at = event.target.closest("[data-unit]");
    if (!at) return null;
    const part = this.state.parts[Number(at.dataset.part)];
    let unit = Number(at.dataset.unit);
    const caret = document.caretPositionFromPoint
      ? document.caretPositionFromPoint(event.clientX, event.clientY, { shadowRoots: [this.root.getRootNode()] })
      : null;
    const isPlain = at.childNodes.length === 1 && caret && caret.offsetNode === at.firstChild;
    if (isPlain && !at.matches(".control, .blank")) unit += Math.min(caret.offset, at.firstChild.length - 1);
    return { part, unit };
  }

  pick(event) {
    if (String(document.getSelection && document.getSelection())) return; // the reader marks text to copy it
    const found = this.place(event);
    if (found) this.select(this.innermost(found.part, found.unit), true);
  }

  innermost(part, unit) {
    const around = [...this.state.values, ...part.marks].filter(
      (one) => one.part === part.index && one.start <= unit && unit < one.end,
    );
    const least = around.reduce((best, one) => (!best || one.end - one.start < best.end - best.start ? one : best), null);
    return least || { ...spanAt(part, unit), part: part.index };
  }

  hover(event) {
    const found = this.place(event);
    if (found) this.status.textContent = factsAt(found.part, found.unit);
  }

  set(name, value) {
    this.look[name] = value;
    this.stream.paint();
  }

  key(event) {
    const { box } = this.stream;
    const jumps = { e: [nextFault, 1], E: [nextFault, -1], "]": [nextStep, 1], "[": [nextStep, -1] };
    const moves = { j: ROW, k: -ROW, g: -Infinity, G: Infinity };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (jumps[event.key]) {
      const found = jumps[event.key][0](this.state, jumps[event.key][1]);
      if (found) this.select(found, true);
    } else if (moves[event.key] !== undefined) {
      box.scrollTop = Math.min(Math.max(box.scrollTop + moves[event.key], 0), box.scrollHeight);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  keyLeft(event) {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!step) return;
    const rows = this.state[this.pane];
    let at = this.rowOfSelection(rows) + step;
    while (rows[at] && rows[at].part < 0) at += step;
    if (rows[at]) this.select(rows[at], true);
    event.preventDefault();
    event.stopPropagation();
  }

  close() {
    this.watch.disconnect();
  }
}

const shown = new WeakMap();

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const root = parentElement.querySelector(".dissector");
  let dissector = shown.get(root);
  if (!dissector) {
    dissector = new Dissector(root, (place) => setTriggerValue("picked", place));
    shown.set(root, dissector);
  }
  dissector.tell = (place) => setTriggerValue("picked", place);
  dissector.take(data);
  return () => {};
}
