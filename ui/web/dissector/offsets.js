// Places in a text: Python counts code points, a browser UTF-16 units; these two turn one into the other.

// The code points beyond U+FFFF of a text, by their place in code points, ascending.
function wideOnes(text) {
  const found = [];
  if (!/[\uD800-\uDBFF]/.test(text)) return found;
  let at = 0;
  for (let unit = 0; unit < text.length; unit += 1, at += 1) {
    const code = text.charCodeAt(unit);
    if (code >= 0xd800 && code < 0xdc00) {
      found.push(at);
      unit += 1;
    }
  }
  return found;
}

// How many of the ascending numbers are below a limit.
function countBelow(numbers, limit) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The characters of a part that are here: those from `first` on, of `total` code points. Units count from the first.
class Offsets {
  constructor(text, first = 0, total = Infinity) {
    this.points = wideOnes(text);
    this.units = this.points.map((point, index) => point + index);
    this.first = first;
    this.end = first + text.length - this.points.length;
    this.total = total;
  }

  // Whether the character at a position is here.
  holds(point) {
    return point >= this.first && (point < this.end || (point === this.end && this.end >= this.total));
  }

  // A position that is not here becomes the nearest end.
  toUnit(point) {
    const own = Math.min(Math.max(point, this.first), this.end) - this.first;
    return own + countBelow(this.points, own);
  }

  toPoint(unit) {
    return unit - countBelow(this.units, unit) + this.first;
  }
}
