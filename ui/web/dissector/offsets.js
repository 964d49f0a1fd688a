// Positions in a text: Python counts code points, a browser counts UTF-16 units; `Offsets` converts between them.

// The positions, in code points and ascending, of the characters above U+FFFF in a text.
function wideOnes(text) {
  const points = [];
  if (!/[\uD800-\uDBFF]/.test(text)) return points;
  let point = 0;
  for (let unit = 0; unit < text.length; unit += 1, point += 1) {
    const code = text.charCodeAt(unit);
    if (code >= 0xd800 && code < 0xdc00) {
      points.push(point);
      unit += 1;
    }
  }
  return points;
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

// The loaded characters of a part: those from `first` on, of `total` code points. Units count from `first`.
class Offsets {
  constructor(text, first = 0, total = Infinity) {
    this.points = wideOnes(text);
    this.units = this.points.map((point, index) => point + index);
    this.first = first;
    this.end = first + text.length - this.points.length;
    this.total = total;
  }

  // Whether the character at a position is loaded.
  isLoaded(point) {
    return point >= this.first && (point < this.end || (point === this.end && this.end >= this.total));
  }

  // A position that is not loaded becomes the nearest end.
  toUnit(point) {
    const offset = Math.min(Math.max(point, this.first), this.end) - this.first;
    return offset + countBelow(this.points, offset);
  }

  toPoint(unit) {
    return unit - countBelow(this.units, unit) + this.first;
  }
}
