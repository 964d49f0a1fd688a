// The dissector: steps, values and faults at the left, the stream at the right; each highlights the other's selection.

const ROW = 20;
const LEFT = ["steps", "values", "faults"];
const NO_LOOK = { selected: null, blanks: false, chunks: false, odds: false, cursor: -1 };
const SOON_MS = 100;

class Dissector {
  constructor(root, emit) {
    this.root = root;
    this.emit = emit;
    this.look = { ...NO_LOOK };
    this.state = { parts: [], steps: [], values: [], faults: [], orderedFaults: [], orderedSteps: [], layers: [] };
    const pane = new URLSearchParams(window.location.search).get("pane");
    this.pane = LEFT.includes(pane) ? pane : LEFT[1];
    this.divider = new Divider(root, root.querySelector(".divider"));
    this.folding = new Folding();
    this.frame();
    this.reader = new Reader(this, root.querySelector(".reader"));
    this.look.matches = () => this.search.matches;
  }

  frame() {
    const find = (name) => this.root.querySelector(`.${name}`);
    this.status = find("status");
    this.tabs = LEFT.map((name) => {
      const tab = find(`tab-${name}`);
      tab.onclick = () => this.choose(name);
      tab.onkeydown = (event) => keyedTab(this, event);
      return tab;
    });
    this.stream = new VirtualList(find("streambox"), "listitem", ROW, (row, index) => this.drawRow(row, index), (rows) => this.squeeze(rows));
    this.left = new VirtualList(find("leftbox"), "treeitem", ROW, (row, index) => this.drawLeft(row, index));
    this.search = new Search(this, find("words"), find("count"));
    find("chosen").onclick = () => this.copy();
    find("read").onclick = () => this.reader.toggle();
    for (const name of ["blanks", "chunks", "odds"]) find(name).onchange = (event) => this.set(name, event.target.checked);
    this.left.box.onclick = (event) => this.pickLeft(event);
    this.stream.box.onclick = (event) => this.pick(event);
    this.stream.box.onmousemove = (event) => this.hover(event);
    this.stream.box.oncopy = (event) => {
      event.clipboardData.setData("text/plain", textToCopy(this));
      event.preventDefault();
    };
    this.root.onkeydown = (event) => keyed(this, event);
    this.fromPage = (event) => event.target === document.body && this.root.isConnected && keyed(this, event);
    document.addEventListener("keydown", this.fromPage);
    this.beforeAction = (event) => event.target.closest(".st-key-weaklink_trace_bar button") && this.root.isConnected && this.tell();
    document.addEventListener("click", this.beforeAction, true);
    this.watch = new ResizeObserver(() => this.relay(false));
    this.watch.observe(this.stream.box);
  }

  // `sent` is the data that Python sends with each run of its script; between two runs, `poll` extends it.
  update(sent) {
    delete document.documentElement.dataset.details; // the server has answered
    const isFirst = this.version === undefined;
    if (sent.version !== this.sentVersion) {
      this.sentVersion = sent.version;
      this.show(sent);
    }
    this.known = sent.initial;
    const named = isFirst && addressed();
    const location = isFirst ? (inUnits(this.byName, named) ? named : sent.initial) : this.needed;
    const range = inUnits(this.byName, location);
    if (range) this.select(range, false);
    else if (isFirst) this.choose(this.pane);
    if (isFirst && !range && sent.grows) this.stream.scrollTo(this.stream.rows.length);
    following().dissector = this;
    following().trace = sent.trace;
    if (isFirst) following().location = location && { turn: location.turn, part: location.part, start: location.start, end: location.end };
    const clicked = following().claim(sent.trace);
    if (clicked) this.go(clicked);
    this.returnTo();
    clearTimeout(this.next);
    if (this.grows) this.next = setTimeout(() => this.poll(), POLL_MS);
  }

  show(data) {
    this.data = data;
    const isShown = this.version !== undefined;
    this.load(data);
    following().state = data.version;
    if (isShown) this.choose(this.pane, false);
  }

  // Request what a running trace gained. When it has ended, Python redraws the page.
  async poll() {
    if (!this.root.isConnected) return;
    const beganMs = performance.now();
    const drawn = document.hidden ? {} : await following().fetch(following().due(), { have: this.version });
    const waitMs = waitAfter(performance.now() - beganMs, drawn !== null);
    if (drawn?.data || drawn?.delta) {
      this.show(drawn.data || withDelta(this.data, drawn.delta));
      following().request();
    }
    if (this.grows) this.next = setTimeout(() => this.poll(), waitMs);
    else this.emit("ended", true);
  }

  // Load the current data. A running trace sends data repeatedly; the selection and the scroll position are kept.
  load(data) {
    this.version = data.version;
    this.grows = data.grows;
    const parts = data.parts.map((part, index) => ({ ...prepared(part, index), order: orderOf(data.order, part.turn, part.part) }));
    this.isWhole = data.is_whole;
    const { selected } = this.look;
    this.byName = new Map(parts.map((part) => [`${part.turn} ${part.part}`, part]));
    const previous = selected && { ...selected, part: selected.partName, start: selected.point, end: selected.pointEnd };
    const kept = inUnits(this.byName, previous);
    this.look.selected = kept ? { ...selected, ...kept } : null;
    this.leftRow = undefined;
    const [steps, values, layers] = [data.steps, data.values, data.layers || []].map((rows) => withUnits(this.byName, rows, data.order));
    const all = faultsOf(data.faults, this.byName, data.order);
    const faults = data.faults.firsts.flatMap((index) => [all[index], ...othersOf(data.faults, index, this.byName, data.order)]);
    const orderedFaults = inOrder(all);
    shareFaults(parts, orderedFaults);
    this.state = { parts, steps, values, faults, orderedFaults, orderedSteps: inOrder(steps), layers: inOrder(layers) };
    this.stall = data.stall_s;
    this.root.querySelector(".has-chunks").hidden = !parts.some((part) => part.ends);
    this.root.querySelector(".has-odds").hidden = !parts.some((part) => part.logprobs);
    this.search.refresh();
    this.relay(true);
  }

  // Lay out the rows again if the width in cells or the content has changed.
  relay(isChanged) {
    const { box } = this.stream;
    this.cell = this.root.querySelector(".probe").getBoundingClientRect().width / 100 || 8;
    const style = getComputedStyle(this.root);
    const side = parseFloat(style.getPropertyValue("--side")) || 0;
    const cells = Math.floor((box.clientWidth - side * 16) / this.cell - 0.5);
    if (!box.clientWidth) return;
    if (isChanged || cells !== this.cells) {
      const { index, hidden } = this.stream.top();
      const [top, cursor] = [index, this.look.cursor].map((row) => this.namedRow(row));
      this.cells = cells;
      this.rows = rowsOf(this.state.parts, cells, this.look.chunks ? this.stall : 0);
      this.look.cursor = this.rowNamed(cursor);
      this.stream.show(this.rows, this.grows);
      if (!(this.grows && this.stream.isAtEnd()) && top) this.stream.scrollTo(this.rowNamed(top), hidden);
    } else this.stream.paint(false);
    const item = parseFloat(style.getPropertyValue("--item")) || ROW; // touch needs more height than a mouse
    if (item !== this.left.height) {
      this.left.height = item;
      this.left.show(this.left.rows);
    } else this.left.paint(false);
  }

  // The position of a row by part and code point, which is valid when other turns are loaded; null without such a row.
  namedRow(index) {
    const row = this.rows && this.rows[index];
    return row ? { name: `${row.part.turn} ${row.part.part}`, point: row.part.offsets.toPoint(row.start), isHead: row.kind === HEAD } : null;
  }

  rowNamed(named) {
    const part = named && this.byName.get(named.name);
    if (!part) return -1;
    const row = rowAt(this.rows, part.index, part.offsets.toUnit(named.point));
    return named.isHead ? Math.max(row - 1, 0) : row;
  }

  reveal() {
    this.look.cursor = rowAt(this.rows || [], this.look.selected.part, this.look.selected.start);
    this.stream.reveal(this.look.cursor);
  }

  drawRow(row, index) {
    const node =
      row.kind === TEXT ? drawText(row, this.look) : { [HEAD]: drawHead, [SAID]: drawSaid, [LANE]: drawLane, [EDGE]: drawEdge }[row.kind](row);
    if (index === this.look.cursor) node.classList.add("cursor");
    return node;
  }

  // Characters of some scripts are wider than computed: a row that does not fit is drawn narrower.
  squeeze(rows) {
    const room = this.cells * this.cell + 4;
    for (const row of rows) {
      const text = row.querySelector(".stream");
      if (!text || !/[^ -~]/.test(text.textContent)) continue;
      const width = text.getBoundingClientRect().width;
      if (width > room) text.style.transform = `scaleX(${room / width})`;
    }
  }

  drawLeft(row, index) {
    const node = element("button", "item");
    node.type = "button";
    node.tabIndex = -1;
    node.style.paddingInlineStart = `${0.5 + (row.depth || 0) * 0.9}rem`;
    const runs = row.runs || faultRuns(row);
    if (this.pane === "values") {
      node.append(foldSign(row, this.folding.isFolded(row)));
      if (row.isParent) node.setAttribute("aria-expanded", String(!this.folding.isFolded(row)));
    }
    node.append(...runs.map(([style, words]) => element("span", style, words)));
    node.title = runs.map(([, words]) => words).join("");
    const isHere = row === this.leftRow;
    node.id = `item-${index}`;
    node.setAttribute("aria-level", String((row.depth || 0) + 1));
    node.setAttribute("aria-selected", String(isHere));
    node.classList.toggle("selected", isHere);
    node.disabled = row.turn === undefined;
    node.dataset.index = String(index);
    return node;
  }

  pickLeft(event) {
    const node = event.target.closest(".item:enabled");
    const row = node && this.left.rows[Number(node.dataset.index)];
    if (!row) return;
    if (row.isParent && this.pane === "values" && event.target.closest(".fold")) {
      this.fold(row);
      return;
    }
    this.select(row, true);
    this.left.box.focus({ preventScroll: true });
  }

  choose(name, isShown = true) {
    if (name !== this.pane) keepInAddress({ pane: name === LEFT[1] ? null : name });
    this.pane = name;
    this.tabs.forEach((tab, index) => {
      tab.setAttribute("aria-selected", String(LEFT[index] === name));
      tab.tabIndex = LEFT[index] === name ? 0 : -1;
    });
    const rows = name === "values" ? this.folding.visible(this.state.values) : this.state[name];
    const index = rowHolding(rows, this.look.selected);
    this.leftRow = rows[index];
    this.left.box.setAttribute("aria-label", `${this.tabs[LEFT.indexOf(name)].textContent} of the trace`);
    if (index < 0) this.left.box.removeAttribute("aria-activedescendant");
    else this.left.box.setAttribute("aria-activedescendant", `item-${index}`);
    this.left.show(rows);
    if (index >= 0 && isShown) this.left.reveal(index);
  }

  fold(row) {
    this.folding.toggle(row);
    this.choose(this.pane, false);
    this.left.box.focus({ preventScroll: true });
  }

  // Select a location in Python's form, anywhere in the trace.
  go(location) {
    const range = inUnits(this.byName, location);
    const whole = { turn: location.turn, partName: location.part, point: location.start, pointEnd: location.end };
    this.select(range || { ...whole, part: -1 }, true);
  }

  // Select characters. If the user chose them (`isOurs`), the address and the views follow, unless another selection
  // comes at once.
  select(range, isOurs) {
    const part = this.state.parts[range.part];
    if (!part) {
      if (isOurs && range.turn !== undefined) this.leave(range);
      return;
    }
    const [point, pointEnd] = [part.offsets.toPoint(range.start), range.pointEnd ?? part.offsets.toPoint(range.end)];
    const { turn, order, part: partName } = part;
    const whole = { turn, order, partName, point, pointEnd };
    this.look.selected = { ...whole, part: range.part, start: range.start, end: Math.max(range.end, range.start + 1) };
    this.reveal();
    this.choose(this.pane);
    this.reader.refresh();
    this.status.textContent = factsAt(part, range.start);
    clearTimeout(this.soon);
    const location = { turn, part: partName, start: point, end: pointEnd };
    if (isOurs) this.outrun = this.needed ? { needed: this.needed, chosen: location } : this.outrun && { ...this.outrun, chosen: location };
    this.needed = null;
    if (isOurs) this.soon = setTimeout(() => this.settle(location), SOON_MS);
  }

  settle(location) {
    following().select(this.data.trace, location);
    const [first, last] = this.data.near;
    if (location.turn < first || location.turn > last) this.need(location); // the values of turns that far away are not loaded
  }

  // Before an action on the selection: Streamlit sends Python the address that it set itself, not the one of `settle`.
  tell() {
    const location = addressed();
    if (location && !isSame(location, this.known)) this.need(location);
  }

  // Python has answered with the text around a location, and its address, but the user has chosen another one meanwhile.
  returnTo() {
    if (!this.outrun || !isSame(addressed(), this.outrun.needed)) return;
    const { chosen } = this.outrun;
    this.outrun = null;
    this.go(chosen);
  }

  // Request the text and the values around a location from Python.
  need(location) {
    this.outrun = null;
    this.needed = location;
    this.emit("needed", location);
  }

  // Select characters that are not loaded: Python sends them.
  leave({ turn, partName, point, pointEnd }) {
    this.leftRow = this.left.rows.find((row) => row.turn === turn && row.partName === partName && row.point === point);
    this.left.reveal(Math.max(this.left.rows.indexOf(this.leftRow), 0));
    this.status.textContent = `loading turn ${turn} · ${partName} · character ${point.toLocaleString("en")} …`;
    clearTimeout(this.soon);
    const location = { turn, part: partName, start: point, end: Math.max(pointEnd, point) };
    this.soon = setTimeout(() => {
      following().select(this.data.trace, location);
      this.need(location);
    }, SOON_MS);
  }

  leaveAt(part, isEnd) {
    const { first, end } = part.offsets;
    const point = isEnd ? end : first - 1;
    this.leave({ turn: part.turn, partName: part.part, point, pointEnd: point + 1 });
  }

  unitAt(event) {
    const piece = event.target.closest("[data-unit]");
    if (!piece) return null;
    const part = this.state.parts[Number(piece.dataset.part)];
    let unit = Number(piece.dataset.unit);
    const caret = document.caretPositionFromPoint
      ? document.caretPositionFromPoint(event.clientX, event.clientY, { shadowRoots: [this.root.getRootNode()] })
      : null;
    const isPlain = piece.childNodes.length === 1 && caret && caret.offsetNode === piece.firstChild && !piece.closest(".said");
    if (!isPlain || piece.dataset.units) return { part, unit };
    const box = document.createRange(); // a caret is between two characters: which was clicked?
    let offset = Math.min(caret.offset, piece.firstChild.length - 1);
    box.setStart(piece.firstChild, offset);
    box.setEnd(piece.firstChild, offset + 1);
    if (offset > 0 && event.clientX < box.getBoundingClientRect().left) offset -= 1;
    unit += offset;
    return { part, unit };
  }

  pick(event) {
    if (markedIn(this.root.getRootNode())) return; // the user marks text to copy it
    const edge = event.target.closest("[data-edge]");
    if (edge) {
      this.leaveAt(this.state.parts[Number(edge.dataset.part)], edge.dataset.edge === "end");
      return;
    }
    const clicked = this.unitAt(event);
    if (!clicked) return;
    const { selected } = this.look;
    const isMore = event.shiftKey && selected && selected.part === clicked.part.index;
    if (!isMore) this.select(innermost(this.state, clicked.part, clicked.unit), true);
    else this.select({ part: selected.part, start: Math.min(selected.start, clicked.unit), end: Math.max(selected.end, clicked.unit + 1) }, true);
  }

  hover(event) {
    const hovered = this.unitAt(event);
    if (hovered) this.status.textContent = factsAt(hovered.part, hovered.unit);
  }

  set(name, value) {
    this.look[name] = value;
    this.root.querySelector(".legend").hidden = !this.look.odds;
    if (name === "chunks") this.relay(true);
    else this.stream.paint(true);
  }

  walk(by) {
    const last = this.rows.length - 1;
    const from = this.look.cursor >= 0 ? this.look.cursor : this.stream.first - (by > 0 ? 1 : 0);
    this.look.cursor = Math.min(Math.max(from + by, 0), last);
    this.stream.nudge(this.look.cursor);
    const row = this.rows[this.look.cursor];
    if (row) this.status.textContent = factsAt(row.part, row.start);
  }

  walkLeft(by) {
    const { rows } = this.left;
    const step = Math.sign(by);
    const from = this.leftRow ? rows.indexOf(this.leftRow) : this.left.first - step;
    let index = Math.min(Math.max(from + by, 0), rows.length - 1);
    while (rows[index] && rows[index].turn === undefined) index += step;
    if (rows[index]) this.select(rows[index], true);
  }

  enter() {
    const row = this.rows[this.look.cursor];
    if (!row) return;
    if (row.kind === EDGE) {
      this.leaveAt(row.part, row.isEnd);
      return;
    }
    const blank = row.kind === TEXT ? row.part.text.slice(row.start, row.end).search(/\S/) : 0;
    this.select(innermost(this.state, row.part, row.start + Math.max(blank, 0)), true);
  }

  copy() {
    this.put(textToCopy(this));
  }

  // Put a text into the clipboard.
  put(text) {
    if (!text || !navigator.clipboard) return;
    navigator.clipboard.writeText(text).then(
      () => (this.status.textContent = `copied ${text.length.toLocaleString("en")} character${text.length === 1 ? "" : "s"}`),
      () => (this.status.textContent = "The browser blocked copying: select the text and use the browser's own shortcut to copy it."),
    );
  }

  close() {
    clearTimeout(this.soon);
    clearTimeout(this.next);
    if (following().dissector === this) following().dissector = null;
    this.watch.disconnect();
    document.removeEventListener("keydown", this.fromPage);
    document.removeEventListener("click", this.beforeAction, true);
  }
}

// The characters that the address names; null if it names none.
function addressed() {
  const query = new URLSearchParams(window.location.search);
  const [turn, start, end] = ["turn", "start", "end"].map((name) => (/^\d{1,15}$/.test(query.get(name) || "") ? Number(query.get(name)) : -1));
  return turn > 0 && start >= 0 && end >= start ? { turn, part: query.get("part") || "text", start, end } : null;
}

function isSame(location, other) {
  return ["turn", "part", "start", "end"].every((name) => location?.[name] === other?.[name]);
}

const shown = new WeakMap();

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const root = parentElement.querySelector(".dissector");
  let dissector = shown.get(root);
  if (!dissector) {
    dissector = new Dissector(root, setTriggerValue);
    shown.set(root, dissector);
  }
  dissector.emit = setTriggerValue;
  dissector.update(data);
  return () => {
    if (!root.isConnected) dissector.close();
  };
}
