// Keys of the dissector: those of the terminal debugger, as far as they make sense in a browser.

const LINES = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, " ": 20, g: -Infinity, G: Infinity, Home: -Infinity, End: Infinity };

// The action of a key, as a function; undefined if the key has none.
function actionOf(dissector, key) {
  const { state, look, search } = dissector;
  const to = (rows, direction) => () => {
    const next = nextOf(rows, look.selected, direction);
    if (next) dissector.select(next, true);
  };
  return {
    e: to(state.orderedFaults, 1),
    E: to(state.orderedFaults, -1),
    x: () => {
      const next = nextLayer(state.layers, look.selected, look.layer);
      if (!next) return;
      look.layer = next;
      dissector.select(next, true);
    },
    "]": to(state.orderedSteps, 1),
    "[": to(state.orderedSteps, -1),
    "}": () => dissector.emit("beside", 1),
    "{": () => dissector.emit("beside", -1),
    "/": () => {
      search.input.focus();
      search.input.select();
    },
    n: () => search.go(1),
    N: () => search.go(-1),
    y: () => dissector.copy(),
    d: () => dissector.reader.toggle(),
    Escape: () => dissector.stream.box.focus({ preventScroll: true }),
  }[key];
}

function keyed(dissector, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const inLeft = dissector.left.box.contains(event.target);
  const isFold = inLeft && ["ArrowLeft", "ArrowRight"].includes(event.key);
  const action = isFold
    ? () => keyedFold(dissector, event.key)
    : LINES[event.key] !== undefined
      ? () => (inLeft ? dissector.walkLeft(LINES[event.key]) : dissector.walk(LINES[event.key]))
      : event.key === "Enter" && !inLeft && !event.target.closest("button, input")
        ? () => dissector.enter()
        : actionOf(dissector, event.key);
  if (!action || (event.target.closest("input, [role=tab]") && LINES[event.key] !== undefined)) return;
  action();
  event.preventDefault();
  event.stopPropagation();
}

// Left and Right go from one tab to the next, as in every list of tabs.
function keyedTab(dissector, event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const { tabs } = dissector;
  const next = tabs[(tabs.indexOf(event.target) + by + tabs.length) % tabs.length];
  next.focus();
  next.click();
  event.preventDefault();
  event.stopPropagation();
}
