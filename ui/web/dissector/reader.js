// The reader: the selected value over the stream, with its real line breaks, as Markdown, as code, or beside another.

const MODES = ["text", "markdown", "code", "diff"];
const MAX_EQUAL = 6; // equal lines in a row that a comparison shows

class Reader {
  constructor(dissector, root) {
    this.dissector = dissector;
    this.root = root;
    this.box = root.querySelector(".readbox");
    this.facts = root.querySelector(".readfacts");
    this.modes = MODES.map((mode) => {
      const button = root.querySelector(`.mode-${mode}`);
      button.onclick = () => this.open(mode);
      return button;
    });
    const copies = { value: () => this.words(), json: () => this.json(), path: () => this.path() ?? "", chars: () => this.text };
    for (const [name, words] of Object.entries(copies)) root.querySelector(`.copy-${name}`).onclick = () => dissector.put(words());
    root.querySelector(".pin").onclick = () => this.pin();
    root.querySelector(".readclose").onclick = () => this.close();
    root.onkeydown = (event) => {
      if (LINES[event.key] !== undefined) event.stopPropagation(); // these scroll the reader
      if (event.key !== "Escape") return;
      this.close();
      event.preventDefault();
      event.stopPropagation();
    };
    const named = new URLSearchParams(window.location.search).get("read");
    this.mode = MODES.includes(named) ? named : "";
  }

  open(mode) {
    this.mode = mode;
    keepInAddress({ read: mode });
    this.refresh();
    this.box.focus({ preventScroll: true });
  }

  close() {
    this.mode = "";
    this.pinned = undefined;
    keepInAddress({ read: null });
    this.refresh();
    this.dissector.stream.box.focus({ preventScroll: true });
  }

  toggle() {
    if (this.mode) this.close();
    else this.open("text");
  }

  // Keep this value as the old side: the value that is selected next is compared with it.
  pin() {
    this.pinned = this.words();
    this.facts.textContent = "Select another value at the left: it is compared with this one.";
  }

  words() {
    return outline(this.decoded.value);
  }

  json() {
    return this.decoded.isJson ? this.text.trim() : JSON.stringify(this.words());
  }

  path() {
    return this.row()?.path;
  }

  row() {
    const { state, look } = this.dissector;
    return state.values[rowHolding(state.values, look.selected)];
  }

  // Draw the selected value again.
  refresh() {
    this.root.hidden = !this.mode;
    if (!this.mode) return;
    const { look, state } = this.dissector;
    const { selected } = look;
    this.text = selected && state.parts[selected.part] ? state.parts[selected.part].text.slice(selected.start, selected.end) : "";
    this.decoded = decoded(this.text);
    const sides = this.sides();
    if (this.pinned !== undefined) this.mode = "diff";
    const mode = this.mode === "diff" && !sides.length ? "text" : this.mode;
    this.modes.forEach((button, index) => button.setAttribute("aria-pressed", String(MODES[index] === mode)));
    this.modes[3].disabled = !sides.length;
    this.root.querySelector(".copy-path").disabled = !this.path();
    this.facts.textContent = this.factsOf(mode);
    this.box.replaceChildren(...(mode === "diff" ? sides.map(comparison) : [this.drawn(mode)]));
    this.box.scrollTop = 0;
  }

  // The texts to compare: the pinned value with this one, else those of the edit around the selected characters.
  sides() {
    if (this.pinned !== undefined) return [[this.pinned, this.words()]];
    const { state, look } = this.dissector;
    const here = look.selected;
    if (!here) return [];
    const around = state.values.filter((row) => row.part === here.part && row.start <= here.start && here.end <= row.end && row.end - row.start <= EXACT_LIMIT);
    for (const row of around.sort((first, second) => first.end - first.start - (second.end - second.start))) {
      const edits = editsIn(decoded(state.parts[row.part].text.slice(row.start, row.end)).value);
      if (edits.length) return edits;
    }
    return [];
  }

  factsOf(mode) {
    const size = `${this.text.length.toLocaleString("en")} character${this.text.length === 1 ? "" : "s"}`;
    const path = this.path();
    const kind = mode === "diff" ? "old at the left, new at the right" : this.decoded.isJson ? "decoded JSON" : "the characters as they are";
    return [path, size, kind].filter(Boolean).join(" · ");
  }

  drawn(mode) {
    const words = shownText(this.words());
    if (mode === "markdown") return markdownOf(words);
    if (mode === "text") return element("pre", "plain", words);
    const box = element("div", "code");
    const count = words.split("\n").length;
    box.append(element("pre", "numbers dim", Array.from({ length: count }, (_, line) => line + 1).join("\n")), element("pre", "", words));
    return box;
  }
}

// Two texts side by side; long runs of equal lines are left out, and their number is shown.
function comparison([before, after]) {
  const table = element("div", "comparison");
  const rows = sideBySide(shownText(before), shownText(after));
  let [left, right] = [0, 0];
  for (let index = 0; index < rows.length; index += 1) {
    let end = index;
    while (rows[end]?.[2]) end += 1;
    const skipped = end - index - MAX_EQUAL;
    if (rows[index][2] && !rows[index - 1]?.[2] && skipped > 1) {
      const half = MAX_EQUAL / 2;
      for (const row of rows.slice(index, index + half)) putSides(table, row, ++left, ++right);
      table.append(element("div", "skipped dim", `… ${skipped.toLocaleString("en")} equal lines`));
      left += skipped;
      right += skipped;
      for (const row of rows.slice(end - half, end)) putSides(table, row, ++left, ++right);
      index = end - 1;
      continue;
    }
    const row = rows[index];
    putSides(table, row, row[0] === null ? 0 : ++left, row[1] === null ? 0 : ++right);
  }
  return table;
}

function putSides(table, [before, after, isEqual], left, right) {
  const side = (words, number, sign, kind) => [
    element("span", "number", number ? String(number) : ""),
    element("span", words === null ? "side none" : isEqual ? "side" : `side ${kind}`, words === null ? "" : `${isEqual ? " " : sign} ${words}`),
  ];
  table.append(...side(before, left, "-", "gone"), ...side(after, right, "+", "come"));
}
