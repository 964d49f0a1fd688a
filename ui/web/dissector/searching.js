// Search in the texts: word for word, upper and lower case told apart where a capital is asked for.

const MOST_FOUND = 10000;

// Where the words stand, by part and in order; at most MOST_FOUND places.
function placesOf(parts, words) {
  const found = [];
  if (!words) return found;
  const asked = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), words === words.toLowerCase() ? "gi" : "g");
  for (const part of parts) {
    for (const match of part.text.matchAll(asked)) {
      const [start, end] = [match.index, match.index + match[0].length];
      found.push({ part: part.index, start, end, turn: part.turn, order: part.order, point: part.offsets.toPoint(start) });
      if (found.length === MOST_FOUND) return found;
    }
  }
  return found;
}

// Those of the places, which are in order, that touch a stretch of a part.
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
    input.oninput = () => this.ask();
    input.onkeydown = (event) => this.key(event);
  }

  ask() {
    this.at = -1;
    this.look();
    this.dissector.stream.paint(true);
  }

  // Search the texts that are there now; who stood at one of the places still does.
  look() {
    this.places = placesOf(this.dissector.state.parts, this.input.value);
    this.at = Math.min(this.at, this.places.length - 1);
    this.say();
  }

  go(direction) {
    if (!this.places.length) return;
    const here = this.dissector.look.selected;
    const next = nextOf(this.places, here, direction) || this.places[direction > 0 ? 0 : this.places.length - 1];
    this.at = this.places.indexOf(next);
    this.dissector.select(next, true);
    this.say();
  }

  say() {
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
      this.ask();
    } else return;
    if (event.key === "Escape" || this.places.length) this.dissector.stream.box.focus({ preventScroll: true });
    event.preventDefault();
  }
}
