// The page works without this. With it, tables are fetched anew, and the playground has
// links to what was typed.
"use strict";

(function refreshTables() {
  const tools = document.getElementById("live");
  if (!tools) return;
  const button = document.getElementById("refresh"), said = document.getElementById("refreshed");
  const every = 5000;
  let on = true;
  tools.hidden = false;
  button.addEventListener("click", () => {
    on = !on;
    button.setAttribute("aria-pressed", String(on));
    said.textContent = on ? "" : "paused";
  });

  // What an element is found by in the fresh table: an id, where a link leads, or whose table it scrolls.
  function finder(element) {
    if (element.id) return "#" + CSS.escape(element.id);
    for (const name of ["href", "aria-labelledby"]) {
      if (element.hasAttribute(name)) return element.localName + "[" + name + "=" + CSS.escape(element.getAttribute(name)) + "]";
    }
    return "";
  }

  function replace(old, fresh) {
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const by = focused ? finder(focused) : "";
    if (focused && !(by && fresh.querySelector(by))) return; // it would be lost
    const scrolled = Array.from(old.querySelectorAll(".scroll"), (box) => [box.scrollLeft, box.scrollTop]);
    const node = document.importNode(fresh, true);
    old.replaceWith(node);
    node.querySelectorAll(".scroll").forEach((box, i) => { [box.scrollLeft, box.scrollTop] = scrolled[i] || [0, 0]; });
    if (focused) node.querySelector(by).focus({ preventScroll: true });
  }

  async function refresh() {
    if (!on || document.hidden) return;
    try {
      const answer = await fetch(location.origin + location.pathname + location.search, { credentials: "same-origin", redirect: "error" });
      if (!answer.ok) throw new Error("status " + answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const old of document.querySelectorAll("[data-live]")) {
        const fresh = page.getElementById(old.id);
        if (fresh) replace(old, fresh);
      }
      if (on) said.textContent = "";
    } catch (error) {
      if (on) said.textContent = "not refreshed: " + error.message;
    }
  }

  (function again() {
    setTimeout(() => refresh().finally(again), every);
  })();
})();

(function playground() {
  const form = document.getElementById("play");
  if (!form) return;
  const names = ["text", "tools", "parser", "model", "reasoning", "finish", "cut", "random", "seed"];
  const mark = "#p=";

  // What was typed goes behind the #, which browsers send to nobody.
  function write() {
    const values = {};
    for (const name of names) values[name] = form.elements[name].value;
    const bytes = new TextEncoder().encode(JSON.stringify(values));
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  function read() {
    if (!location.hash.startsWith(mark)) return;
    try {
      const text = atob(location.hash.slice(mark.length).replaceAll("-", "+").replaceAll("_", "/"));
      const values = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0))));
      for (const name of names) {
        if (typeof values[name] === "string") form.elements[name].value = values[name];
      }
    } catch {
      said.textContent = "The link is broken.";
    }
  }

  const button = document.getElementById("link"), said = document.getElementById("linked");
  button.hidden = false;
  button.addEventListener("click", async () => {
    const link = location.origin + location.pathname + mark + write();
    try {
      await navigator.clipboard.writeText(link);
      said.textContent = "Copied.";
    } catch {
      history.replaceState(null, "", link);
      said.textContent = "The address of this page is the link.";
    }
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  window.addEventListener("hashchange", read);
  read();
})();
