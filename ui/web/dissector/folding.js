// Folding of the values: a click on a row's sign, or the arrow keys, hide and show what is below the row. What is
// folded stays folded when a running trace grows, since rows are known by their place in the trace.

class Folding {
  constructor() {
    this.folded = new Set();
  }

  key(row) {
    return [row.depth, row.turn, row.partName, row.point, row.pointEnd].join(" ");
  }

  isFolded(row) {
    return this.folded.has(this.key(row));
  }

  toggle(row) {
    const key = this.key(row);
    if (!this.folded.delete(key)) this.folded.add(key);
  }

  // The rows that are not below a folded one; `isParent` of each says whether it can be folded.
  visible(rows) {
    const shown = [];
    let below = Infinity;
    rows.forEach((row, index) => {
      if (row.depth > below) return;
      below = Infinity;
      row.isParent = (rows[index + 1]?.depth ?? -1) > row.depth;
      if (row.isParent && this.isFolded(row)) below = row.depth;
      shown.push(row);
    });
    return shown;
  }
}

// The sign before a value that can be folded; a blank of its width before any other.
function foldSign(row, isFolded) {
  const sign = element("span", row.isParent ? `fold dim ${isFolded ? "closed" : "opened"}` : "fold");
  sign.setAttribute("aria-hidden", "true"); // the row says it by `aria-expanded`
  if (!row.isParent) return sign;
  sign.title = isFolded ? "Show what is below  →" : "Hide what is below  ←";
  return sign;
}

// Left folds a row or goes to its parent, Right shows what is below it or goes there.
function keyedFold(dissector, key) {
  const rows = dissector.left.rows;
  const index = rows.indexOf(dissector.leftRow);
  const row = rows[index];
  if (!row || dissector.pane !== "values") return;
  const isFolded = dissector.folding.isFolded(row);
  if (row.isParent && isFolded === (key === "ArrowRight")) dissector.fold(row);
  else if (key === "ArrowLeft") {
    const parent = rows.slice(0, index).findLast((candidate) => candidate.depth < row.depth);
    if (parent) dissector.select(parent, true);
  } else if (row.isParent) dissector.walkLeft(1);
}
