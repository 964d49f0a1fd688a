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

class Offsets {
  constructor(text) {
    this.points = wideOnes(text);
    this.units = this.points.map((point, index) => point + index);
  }

  toUnit(point) {
    return point + countBelow(this.points, point);
  }

  toPoint(unit) {
    return unit - countBelow(this.units, unit);
  }
}
