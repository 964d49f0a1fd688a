// Apply a delta to a JSON value without changing the value; `browser_json.py` describes deltas.

function withDelta(before, delta) {
  if ("v" in delta) return delta.v;
  if (typeof before === "string") return before + delta.t;
  if (Array.isArray(before)) {
    const kept = before.slice(0, delta.n ?? before.length);
    for (const [index, change] of Object.entries(delta.c || {})) kept[index] = withDelta(kept[index], change);
    return kept.concat(addedItems(kept, delta));
  }
  const gone = new Set(delta.d);
  const left = Object.entries(before).filter(([name]) => !gone.has(name));
  const changed = Object.entries(delta.c || {}).map(([name, change]) => [name, withDelta(before[name], change)]);
  return Object.fromEntries([...left, ...changed]);
}

function addedItems(kept, delta) {
  if ("s" in delta) {
    let number = Number.isInteger(kept[kept.length - 1]) ? kept[kept.length - 1] : 0;
    return delta.s.map((step) => (number += step));
  }
  if (!("r" in delta)) return delta.t || [];
  const items = Array.from({ length: delta.r }, () => []);
  for (const [name, change] of Object.entries(delta.m)) {
    const absent = new Set(delta.a?.[name]);
    const values = withDelta([], change);
    let next = 0;
    items.forEach((members, index) => absent.has(index) || members.push([name, values[next++]]));
  }
  return items.map((members) => Object.fromEntries(members));
}

// A running trace is requested again POLL_MS after each response, so that text is shown within a second of its arrival;
// after as long as the response took, if that is longer: the page of a long trace takes half of a server's time at most.
// A server that does not answer is asked less often.
const POLL_MS = 300;
const RETRY_MS = 1500;

function waitAfter(tookMs, isAnswered) {
  return isAnswered ? Math.max(POLL_MS, tookMs) : RETRY_MS;
}
