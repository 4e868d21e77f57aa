// Live updates, search from anywhere, and keys. Pages work without it.
"use strict";
(() => {
  const live = document.getElementById("live");
  const say = (word, on) => {
    live.hidden = false;
    live.classList.toggle("off", !on);
    live.querySelector(".word").textContent = word;
  };

  // A page is drawn anew when there is news, unless somebody is writing on it.
  let version = null;
  let due = false;
  const isBusy = () => {
    const main = document.getElementById("main");
    const active = document.activeElement;
    const writes = active && main.contains(active) && /^(INPUT|SELECT|TEXTAREA)$/.test(active.tagName);
    return document.hidden || writes || main.querySelector("details.action[open]") !== null;
  };
  const opened = (main) => [...main.querySelectorAll("details")].map((one) => one.open);
  const address = (node) => node && node.getAttribute && node.getAttribute("href");

  // Who asks with patience is answered when the page is made, and not before.
  const PATIENT = { Accept: "text/html", "Reroll-Patient": "yes" };
  const isMoment = (node) => node.querySelector("[data-moment]") !== null;
  const fetched = async () => {
    try {
      const answer = await fetch(location.href, { headers: PATIENT });
      if (!answer.ok && !isMoment(document)) return null;
      return new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      return null;
    }
  };

  let isDrawing = false;
  const redraw = async () => {
    due = true;
    if (isDrawing || isBusy()) return;
    due = false;
    if (document.querySelector("[data-problem]")) {
      location.reload();
      return;
    }
    isDrawing = true;
    const page = await fetched();
    isDrawing = false;
    if (isBusy()) {
      due = true;
      return;
    }
    if (page && page.getElementById("main") && !isMoment(page)) draw(page);
    else if (isMoment(document)) setTimeout(redraw, 2000);
    if (due) redraw();
  };
  const draw = (page) => {
    const fresh = page.getElementById("main");
    const main = document.getElementById("main");
    document.title = page.title;
    document.getElementById("api").replaceChildren(...page.getElementById("api").childNodes);
    const open = opened(main);
    const href = address(document.activeElement);
    const scrolled = [...main.querySelectorAll(".waves, .picture")].map((one) => [one.scrollLeft, one.scrollTop]);
    const focused = document.activeElement.closest ? document.activeElement.closest(".picture") : null;
    // What came of something that was just done stays until the page is left.
    const told = [...main.querySelectorAll(".notices .notice:not(.outage)")];
    fresh.querySelector(".notices").prepend(...told);
    main.replaceChildren(...fresh.childNodes);
    main.querySelectorAll("details").forEach((one, at) => { one.open = Boolean(open[at]); });
    document.dispatchEvent(new Event("reroll:drawn"));
    main.querySelectorAll(".waves, .picture").forEach((one, at) => one.scrollTo(...(scrolled[at] || [0, 0])));
    if (focused && !href) {
      main.querySelector(".picture").focus({ preventScroll: true });
    } else if (href) {
      const same = [...main.querySelectorAll("a")].find((one) => address(one) === href);
      if (same) same.focus({ preventScroll: true });
    }
  };

  // News come by a stream while the page is seen; where a proxy holds that back, the page asks.
  const SILENT = 20000;
  const FIRST = 4000;
  const ASK = 5000;
  let stream = null;
  let heard = 0;
  let since = 0;
  const take = (now) => {
    if (version !== null && version !== now) redraw();
    else if (due) redraw();
    version = now;
  };
  const listen = () => {
    if (stream) stream.close();
    stream = null;
    if (document.hidden) return; // A browser has few connections for all its tabs.
    heard = 0;
    since = Date.now();
    stream = new EventSource("/events");
    stream.addEventListener("version", (event) => {
      heard = Date.now();
      say("live", true);
      take(Number(event.data));
    });
    stream.addEventListener("error", () => { heard = 0; });
  };
  const ask = async () => {
    const patience = heard ? SILENT : FIRST;
    if (document.hidden || Date.now() - (heard || since) < patience) return;
    try {
      const answer = await fetch("/version");
      if (!answer.ok) throw new Error(answer.statusText);
      take((await answer.json()).version);
      say("every few seconds", true);
    } catch {
      say("not live", false);
    }
  };
  setInterval(ask, ASK);
  document.addEventListener("visibilitychange", listen);
  listen();
  if (isMoment(document)) redraw();
  document.addEventListener("focusout", () => setTimeout(() => { if (due) redraw(); }, 200));

  // Keys: / finds, j and k go through the links of the page, Escape leaves a field.
  const search = document.querySelector(".search input");
  const links = () => [...document.querySelectorAll("#main .chip a, #main .object")];
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writes = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "Escape") {
      document.activeElement.blur();
      document.querySelectorAll("details.action[open]").forEach((one) => { one.open = false; });
    } else if (writes) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "j" || event.key === "k") {
      const all = links();
      const at = all.indexOf(document.activeElement);
      const next = all[Math.min(all.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)))];
      if (next) next.focus();
    }
  });
})();
