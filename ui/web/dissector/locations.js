// Locations in the texts: converts them from Python's to the browser's positions, orders them, and finds neighbours.

// A location from Python as a range in units of its part; null if it is not loaded.
function inUnits(byName, location) {
  const part = location && byName.get(`${location.turn} ${location.part}`);
  if (!part || !part.offsets.isLoaded(location.start)) return null;
  const { offsets, index } = part;
  const range = { part: index, start: offsets.toUnit(location.start), end: offsets.toUnit(location.end) };
  if (location.from !== undefined) range.from = offsets.toUnit(location.from);
  return range;
}

// Rows with their positions in the loaded texts and in the whole trace; `part` is -1 if they are not loaded.
function withUnits(byName, rows, orders) {
  return rows.map((row) => {
    const whole = row.turn === undefined ? {} : { partName: row.part, order: orderOf(orders, row.turn, row.part), point: row.start, pointEnd: row.end };
    return { ...row, ...whole, ...(inUnits(byName, row) || { part: -1, start: 0, end: 0 }) };
  });
}

// The index of a part among the parts of its turn; a turn with one part is not listed.
function orderOf(orders, turn, name) {
  return orders[turn] ? orders[turn].indexOf(name) : 0;
}

function compared(first, second) {
  return first.turn - second.turn || first.order - second.order || first.point - second.point;
}

function isBefore(first, second) {
  return compared(first, second) < 0;
}

function inOrder(rows) {
  return rows.filter((row) => row.turn !== undefined).sort(compared);
}

// The next of some ordered rows after the selected one (or before it); without a selection the first (or the last).
function nextOf(rows, here, direction) {
  if (!here) return rows[direction > 0 ? 0 : rows.length - 1];
  return direction > 0
    ? rows.find((row) => isBefore(here, row))
    : rows.findLast((row) => isBefore(row, here));
}

// The same call or result in its next layer; the first layer of all if nothing is selected. `last` is the layer visited
// last: it decides whose layers are meant if several have the same location.
function nextLayer(layers, here, last) {
  const isThere = here && last && compared(last, here) === 0;
  const before = isThere ? layers.find((layer) => layer.step === last.step && compared(layer, last) === 0) : here && layers.findLast((layer) => !isBefore(here, layer));
  if (!before) return layers[0];
  const group = layers.filter((layer) => layer.step === before.step);
  return group[(group.indexOf(before) + 1) % group.length];
}

// The smallest value or fault around a position; the key of a member selects the member too. Without any, the span.
function innermost(state, part, unit) {
  let best = null;
  let least = Infinity;
  for (const row of [...state.values, ...part.marks.touching(unit, unit + 1)]) {
    if (row.part !== part.index || unit >= row.end) continue;
    const from = row.from === undefined ? row.start : row.from;
    if (from > unit || row.end - from >= least) continue;
    best = row;
    least = row.end - from;
  }
  return best || { ...spanAt(part, unit), part: part.index };
}

// The index of the innermost row that contains a selection; -1 without one.
function rowHolding(rows, here) {
  let best = -1;
  if (!here) return best;
  rows.forEach((row, index) => {
    const contains = row.part === here.part && row.start <= here.start && here.end <= Math.max(row.end, row.start + 1);
    if (contains && (best < 0 || row.end - row.start <= rows[best].end - rows[best].start)) best = index;
  });
  return best;
}
