// A JSON value with a delta of it, as `browser_json.json_delta` describes it; the value itself stays as it was.

function withDelta(before, delta) {
  if ("v" in delta) return delta.v;
  if (typeof before === "string") return before + delta.t;
  if (Array.isArray(before)) {
    const kept = before.slice(0, delta.n);
    for (const [index, change] of Object.entries(delta.c)) kept[index] = withDelta(kept[index], change);
    if (!("s" in delta)) return kept.concat(delta.t);
    let number = Number.isInteger(kept[kept.length - 1]) ? kept[kept.length - 1] : 0;
    return kept.concat(delta.s.map((step) => (number += step)));
  }
  const gone = new Set(delta.d);
  const left = Object.entries(before).filter(([name]) => !gone.has(name));
  const changed = Object.entries(delta.c).map(([name, change]) => [name, withDelta(before[name], change)]);
  return Object.fromEntries([...left, ...changed]);
}
