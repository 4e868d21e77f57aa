// A picture that can be moved and made larger: by mouse, by touch, by keys. It scrolls without it.
"use strict";
(() => {
  const LEAST = 0.2;
  const MOST = 4;
  const STEP = 1.25;
  const PAN = 80;
  let scale = 1;

  const box = () => document.querySelector(".picture");
  const drawing = () => document.querySelector(".picture svg");
  const tools = () => document.querySelector(".zoom");
  const natural = (svg) => svg.viewBox.baseVal;

  const apply = () => {
    const svg = drawing();
    if (!svg) return;
    svg.setAttribute("width", Math.round(natural(svg).width * scale));
    svg.setAttribute("height", Math.round(natural(svg).height * scale));
    tools().querySelector("output").textContent = `${Math.round(scale * 100)} %`;
  };
  // What is at (x, y) of the box stays there.
  const zoom = (factor, x, y) => {
    const one = box();
    const before = scale;
    scale = Math.min(MOST, Math.max(LEAST, scale * factor));
    const grown = scale / before;
    const left = (one.scrollLeft + x) * grown - x;
    const top = (one.scrollTop + y) * grown - y;
    apply();
    one.scrollTo(left, top);
  };
  const zoomMiddle = (factor) => zoom(factor, box().clientWidth / 2, box().clientHeight / 2);
  const fit = () => {
    const one = box();
    const size = natural(drawing());
    scale = Math.min(1, Math.max(LEAST, Math.min(one.clientWidth / size.width, one.clientHeight / size.height)));
    apply();
  };
  const root = () => {
    const one = box();
    const at = one.querySelector(".root");
    if (!at) return;
    const place = at.getBoundingClientRect();
    const frame = one.getBoundingClientRect();
    one.scrollBy(place.left + place.width / 2 - frame.left - frame.width / 2, place.top + place.height / 2 - frame.top - frame.height / 2);
  };
  const deeds = { in: () => zoomMiddle(STEP), out: () => zoomMiddle(1 / STEP), fit, whole: () => { scale = 1; apply(); root(); } };

  const ready = () => {
    if (!drawing()) return;
    tools().hidden = false;
    apply();
  };
  document.addEventListener("click", (event) => {
    const pressed = event.target.closest(".zoom button");
    if (pressed) deeds[pressed.dataset.zoom]();
  });
  document.addEventListener("wheel", (event) => {
    const one = box();
    if (!one || !one.contains(event.target) || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    const frame = one.getBoundingClientRect();
    zoom(event.deltaY < 0 ? STEP : 1 / STEP, event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });

  // A drag moves the picture; a click on a box is still a click.
  let held = null;
  document.addEventListener("pointerdown", (event) => {
    const one = box();
    if (!one || !one.contains(event.target) || event.button !== 0 || event.pointerType === "touch") return;
    held = { x: event.clientX, y: event.clientY, left: one.scrollLeft, top: one.scrollTop, moved: false };
  });
  document.addEventListener("pointermove", (event) => {
    if (!held) return;
    const x = event.clientX - held.x;
    const y = event.clientY - held.y;
    held.moved = held.moved || Math.hypot(x, y) > 4;
    if (held.moved) box().scrollTo(held.left - x, held.top - y);
  });
  document.addEventListener("pointerup", () => {
    const was = held;
    held = null;
    if (was && was.moved) document.addEventListener("click", (event) => event.preventDefault(), { once: true, capture: true });
  });
  document.addEventListener("dragstart", (event) => { if (box() && box().contains(event.target)) event.preventDefault(); });

  document.addEventListener("keydown", (event) => {
    const one = box();
    if (!one || !one.contains(document.activeElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowLeft: [-PAN, 0], ArrowRight: [PAN, 0], ArrowUp: [0, -PAN], ArrowDown: [0, PAN] };
    const keys = { "+": "in", "=": "in", "-": "out", 0: "fit", 1: "whole" };
    if (moves[event.key]) one.scrollBy(...moves[event.key]);
    else if (keys[event.key] !== undefined) deeds[keys[event.key]]();
    else return;
    event.preventDefault();
  });
  document.addEventListener("reroll:drawn", ready);
  ready();
  root();
})();
