// Searches the texts literally; the search is case-sensitive if its words contain a capital letter.

const MOST_FOUND = 10000;

// The places with these words, by part and in order; at most MOST_FOUND.
function placesOf(parts, words) {
  const found = [];
  if (!words) return found;
  const pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), words === words.toLowerCase() ? "gi" : "g");
  for (const part of parts) {
    for (const match of part.text.matchAll(pattern)) {
      const [start, end] = [match.index, match.index + match[0].length];
      found.push({ part: part.index, start, end, turn: part.turn, order: part.order, point: part.offsets.toPoint(start) });
      if (found.length === MOST_FOUND) return found;
    }
  }
  return found;
}

// The places, of an ordered list, that overlap a range of a part.
function foundIn(places, part, start, end) {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const one = places[middle];
    if (one.part < part || (one.part === part && one.end <= start)) low = middle + 1;
    else high = middle;
  }
  const touched = [];
  for (; low < places.length && places[low].part === part && places[low].start < end; low += 1) touched.push(places[low]);
  return touched;
}

class Search {
  constructor(dissector, input, count) {
    this.dissector = dissector;
    this.input = input;
    this.count = count;
    this.places = [];
    this.at = -1;
    input.oninput = () => this.restart();
    input.onkeydown = (event) => this.key(event);
  }

  restart() {
    this.at = -1;
    this.refresh();
    this.dissector.stream.paint(true);
  }

  // Search the loaded texts again; the current position among the results is kept.
  refresh() {
    this.places = placesOf(this.dissector.state.parts, this.input.value);
    this.at = Math.min(this.at, this.places.length - 1);
    this.showCount();
  }

  go(direction) {
    if (!this.places.length) return;
    const here = this.dissector.look.selected;
    const next = nextOf(this.places, here, direction) || this.places[direction > 0 ? 0 : this.places.length - 1];
    this.at = this.places.indexOf(next);
    this.dissector.select(next, true);
    this.showCount();
  }

  showCount() {
    const total = this.places.length;
    const many = total === MOST_FOUND ? `${total.toLocaleString("en")} or more` : total.toLocaleString("en");
    const where = this.dissector.isWhole === false ? " in the text shown" : "";
    this.count.textContent = !this.input.value ? "" : (this.at < 0 ? `${many} found` : `${this.at + 1} of ${many}`) + where;
  }

  key(event) {
    event.stopPropagation();
    if (event.key === "Enter") this.go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      this.input.value = "";
      this.restart();
    } else return;
    if (event.key === "Escape" || this.places.length) this.dissector.stream.box.focus({ preventScroll: true });
    event.preventDefault();
  }
}
