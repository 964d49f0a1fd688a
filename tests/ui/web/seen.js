// All the words of the page, shadows included, with what fields hold and what is read aloud for things.
() => {
  const said = [];
  const walk = (root) => {
    for (const node of root.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) said.push(node.data);
      if (node.nodeType !== Node.ELEMENT_NODE || ["style", "script", "noscript"].includes(node.localName)) continue;
      for (const name of ["title", "aria-label", "placeholder", "alt"]) if (node.getAttribute(name)) said.push(node.getAttribute(name));
      if (node.localName === "input" || node.localName === "textarea") said.push(node.value);
      if (node.shadowRoot) walk(node.shadowRoot);
      walk(node);
    }
  };
  walk(document.body);
  return said.join("\n");
}
