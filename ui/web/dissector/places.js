// Places in the texts: converts them from Python's to the browser's positions, orders them, and finds neighbours.

// A place from Python, in units of its part; null if it is not loaded.
function inUnits(byName, place) {
  const part = place && byName.get(`${place.turn} ${place.part}`);
  if (!part || !part.offsets.isLoaded(place.start)) return null;
  const { offsets, index } = part;
  const found = { part: index, start: offsets.toUnit(place.start), end: offsets.toUnit(place.end) };
  if (place.from !== undefined) found.from = offsets.toUnit(place.from);
  return found;
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

function compared(one, other) {
  return one.turn - other.turn || one.order - other.order || one.point - other.point;
}

function isBefore(one, other) {
  return compared(one, other) < 0;
}

function inOrder(places) {
  return places.filter((one) => one.turn !== undefined).sort(compared);
}

// The next of some ordered places after the selected one (or before it); without a selection the first (or the last).
function nextOf(places, here, direction) {
  if (!here) return places[direction > 0 ? 0 : places.length - 1];
  return direction > 0
    ? places.find((one) => isBefore(here, one))
    : places.findLast((one) => isBefore(one, here));
}

// The same call or result in its next layer; the first layer of all if nothing is selected. `last` is the layer visited
// last: it decides whose layers are meant if several have the same place.
function nextLayer(layers, here, last) {
  const isThere = here && last && compared(last, here) === 0;
  const before = isThere ? layers.find((one) => one.step === last.step && compared(one, last) === 0) : here && layers.findLast((one) => !isBefore(here, one));
  if (!before) return layers[0];
  const group = layers.filter((one) => one.step === before.step);
  return group[(group.indexOf(before) + 1) % group.length];
}

// The smallest value or fault around a position; the key of a member selects the member too. Without any, the span.
function innermost(state, part, unit) {
  let best = null;
  let least = Infinity;
  for (const one of [...state.values, ...part.marks.touching(unit, unit + 1)]) {
    if (one.part !== part.index || unit >= one.end) continue;
    const from = one.from === undefined ? one.start : one.from;
    if (from > unit || one.end - from >= least) continue;
    best = one;
    least = one.end - from;
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
