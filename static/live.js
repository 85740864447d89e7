// Keeps a page up to date while it is visible: asks for its sections once in a while, and replaces those that have changed.
// Nothing of a page needs this file.
"use strict";

const main = document.getElementById("main");
const line = document.getElementById("updates");
const pauseMs = Number(main.dataset.refresh || 0) * 1000;
let tag = null;
let isOver = false;
/** Whether the reader has written into a form. */
let hasWritten = false;
let misses = 0;
let isPaused = false;

/** Longest wait for an answer: a JobTracker that hangs answers no more than one that is gone. */
const ANSWER_MS = 5000;

/** A button beside the time that stops and starts the updates. */
function addPauseButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Pause";
  button.addEventListener("click", () => {
    isPaused = !isPaused;
    button.textContent = isPaused ? "Continue" : "Pause";
    button.setAttribute("aria-pressed", String(isPaused));
  });
  line.before(" ", button, " ");
  return button;
}

/** A button that changes between light, dark and what the system says. */
function addThemeButton() {
  const themes = ["system", "light", "dark"];
  const button = document.createElement("button");
  button.type = "button";
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = `Colours: ${theme}`;
  };
  let kept = null;
  try { kept = localStorage.getItem("theme"); } catch { /* without storage the choice lasts as long as the page */ }
  show(themes.includes(kept) ? kept : "system");
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
    try { localStorage.setItem("theme", next); } catch { /* as above */ }
    show(next);
  });
  line.before(button, " ");
}

/** Whether the reader's hand is on a section: rows must not move under it. */
function isInUse(section) {
  return section.matches(":hover") || section.contains(document.activeElement) || hasSelection(section);
}

function hasSelection(section) {
  const selection = document.getSelection();
  return selection && !selection.isCollapsed && section.contains(selection.anchorNode);
}

/** Replaces what has changed, and keeps open what was opened and scrolled what was scrolled. */
function replace(section, fresh) {
  const opened = [...section.querySelectorAll("details")].map((details) => details.open);
  const scrolled = [...section.querySelectorAll(".wide")].map((box) => box.scrollLeft);
  section.replaceChildren(...fresh.childNodes);
  section.querySelectorAll("details").forEach((details, index) => { details.open = opened[index] || false; });
  section.querySelectorAll(".wide").forEach((box, index) => { box.scrollLeft = scrolled[index] || 0; });
}

/** Whether to load the page again would take from the reader what is written. */
function isWriting() {
  return hasWritten || main.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");
}

/** Shows another heading; whether it is another. */
function changeHeading(fresh) {
  const shown = main.querySelector(":scope > h1");
  document.title = fresh.dataset.title;
  if (shown.innerHTML === fresh.innerHTML) return false;
  shown.replaceChildren(...fresh.childNodes);
  return true;
}

function update(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  const now = fresh.querySelector(".as-of");
  if (now) {
    main.dataset.generation = now.dataset.generation;
    document.querySelector(".status time").replaceWith(now.querySelector("time"));
  }
  // What was awaited is there: a whole page of it has more than sections.
  isOver = now?.dataset.refresh === "0";
  const heading = fresh.querySelector("h1");
  if (heading && changeHeading(heading) && isOver && !isWriting()) {
    location.reload();
    return;
  }
  const sections = [...fresh.querySelectorAll("section")];
  let before = main.querySelector(":scope > section")?.previousSibling ?? main.lastChild;
  for (const section of sections) {
    const shown = document.getElementById(section.id);
    if (!shown) {
      before.after(section);
    } else if (shown.innerHTML !== section.innerHTML) {
      if (!isInUse(shown)) {
        replace(shown, section);
      } else if (isOver) {
        // The last change waits for the reader's hand.
        isOver = false;
        tag = null;
      }
    }
    before = shown ?? section;
  }
  for (const shown of main.querySelectorAll(":scope > section")) {
    if (!sections.some((section) => section.id === shown.id)) shown.remove();
  }
}

function say(text) {
  if (line.textContent !== text) line.textContent = text;
  document.body.classList.toggle("stale", text !== "");
}

async function look() {
  const address = new URL(location.href);
  address.searchParams.set("part", "main");
  const headers = tag ? { "If-None-Match": tag } : {};
  const answer = await fetch(address, { headers, cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(ANSWER_MS) });
  if (answer.status === 200) {
    tag = answer.headers.get("ETag");
    update(await answer.text());
  } else if (answer.status !== 304) {
    throw new Error(String(answer.status));
  }
}

async function keepLooking() {
  while (!isOver) {
    await new Promise((resume) => setTimeout(resume, misses > 0 ? 5000 : pauseMs));
    if (isPaused || document.hidden) continue;
    try {
      await look();
      misses = 0;
      say("");
    } catch {
      misses += 1;
      if (misses >= 3) say("The JobTracker has not answered for a while: what you see is old.");
    }
  }
}

addThemeButton();
if (pauseMs > 0) {
  const button = addPauseButton();
  main.addEventListener("input", () => { hasWritten = true; });
  keepLooking().then(() => button.remove());
}
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.getElementById("q").focus();
  }
});
