// Asks the server again and again for the state of what a part of the page shows, and lets the script run when it is
// another. It holds back for a moment after a click or a key, which may leave this page: a run for it would then meet
// the page that comes.

const HOLD_MS = 2_000;
const LOST_MS = 5_000; // after which news is told again, if the script has not run

const current = new WeakMap();

function noteActions() {
  if (window.weaklinkActedMs !== undefined) return;
  window.weaklinkActedMs = -Infinity;
  const note = () => (window.weaklinkActedMs = performance.now());
  for (const kind of ["pointerdown", "keydown"]) window.addEventListener(kind, note, { capture: true });
}

async function stateOf(id) {
  try {
    const answer = await fetch(`/weaklink/watch/${id}`);
    if (answer.status === 404) return ""; // forgotten: the run tells it again
    return answer.ok ? await answer.text() : null;
  } catch {
    return null; // the server is gone, which Streamlit shows
  }
}

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const root = parentElement.querySelector(".watch");
  const drawnMs = performance.now();
  const isHeld = () => document.hidden || (window.weaklinkActedMs > drawnMs && performance.now() - window.weaklinkActedMs < HOLD_MS);
  const ask = async () => {
    const state = isHeld() ? null : await stateOf(data.id);
    if (!root.isConnected || current.get(root) !== ask) return;
    const isNews = state !== null && state !== data.state && !isHeld();
    if (isNews) setTriggerValue("news", state);
    setTimeout(ask, isNews ? LOST_MS : data.every_ms);
  };
  noteActions();
  current.set(root, ask);
  setTimeout(ask, data.every_ms);
  return () => current.delete(root);
}
