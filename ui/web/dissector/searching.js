// Searches the texts literally; the search is case-sensitive if its words contain a capital letter.

const MAX_MATCHES = 10000;

// The matches of these words, by part and in order; at most MAX_MATCHES.
function matchesOf(parts, words) {
  const matches = [];
  if (!words) return matches;
  const pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), words === words.toLowerCase() ? "gi" : "g");
  for (const part of parts) {
    for (const match of part.text.matchAll(pattern)) {
      const [start, end] = [match.index, match.index + match[0].length];
      matches.push({ part: part.index, start, end, turn: part.turn, order: part.order, point: part.offsets.toPoint(start) });
      if (matches.length === MAX_MATCHES) return matches;
    }
  }
  return matches;
}

// The matches, of an ordered list, that overlap a range of a part.
function matchesIn(matches, part, start, end) {
  let low = 0;
  let high = matches.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const match = matches[middle];
    if (match.part < part || (match.part === part && match.end <= start)) low = middle + 1;
    else high = middle;
  }
  const touched = [];
  for (; low < matches.length && matches[low].part === part && matches[low].start < end; low += 1) touched.push(matches[low]);
  return touched;
}

class Search {
  constructor(dissector, input, count) {
    this.dissector = dissector;
    this.input = input;
    this.count = count;
    this.matches = [];
    this.index = -1;
    input.oninput = () => this.restart();
    input.onkeydown = (event) => this.key(event);
  }

  restart() {
    this.index = -1;
    this.refresh();
    this.dissector.stream.paint(true);
  }

  // Search the loaded texts again; the current position among the results is kept.
  refresh() {
    this.matches = matchesOf(this.dissector.state.parts, this.input.value);
    this.index = Math.min(this.index, this.matches.length - 1);
    this.showCount();
  }

  go(direction) {
    if (!this.matches.length) return;
    const here = this.dissector.look.selected;
    const next = nextOf(this.matches, here, direction) || this.matches[direction > 0 ? 0 : this.matches.length - 1];
    this.index = this.matches.indexOf(next);
    this.dissector.select(next, true);
    this.showCount();
  }

  showCount() {
    const total = this.matches.length;
    const many = total === MAX_MATCHES ? `${total.toLocaleString("en")} or more` : total.toLocaleString("en");
    const where = this.dissector.isWhole === false ? " in the text shown" : "";
    this.count.textContent = !this.input.value ? "" : (this.index < 0 ? `${many} found` : `${this.index + 1} of ${many}`) + where;
  }

  key(event) {
    event.stopPropagation();
    if (event.key === "Enter") this.go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      this.input.value = "";
      this.restart();
    } else return;
    if (event.key === "Escape" || this.matches.length) this.dissector.stream.box.focus({ preventScroll: true });
    event.preventDefault();
  }
}
