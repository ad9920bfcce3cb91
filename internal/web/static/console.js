"use strict";
// Everything here is a help: each page works without it.
const $ = (query, within = document) => within.querySelector(query);

// Times are shown in the reader's own zone.
function localTimes(within) {
  const short = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium" });
  const full = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "full", timeStyle: "short" });
  for (const time of within.querySelectorAll('time[datetime*="T"]')) {
    const at = new Date(time.dateTime);
    time.textContent = short.format(at);
    time.title = full.format(at);
  }
}
localTimes(document);
document.addEventListener("htmx:after:swap", () => localTimes(document));

// Copy buttons: without https there is no clipboard, then the text is selected.
for (const button of document.querySelectorAll("button[data-copy][hidden]")) button.hidden = false;
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("button[data-copy]");
  if (!button) return;
  const from = document.getElementById(button.dataset.copy);
  let done = false;
  try {
    await navigator.clipboard.writeText(button.dataset.value ?? from.textContent);
    done = true;
  } catch {
    getSelection().selectAllChildren(from);
    done = !button.dataset.value && document.execCommand("copy");
  }
  const text = done ? "Copied" : "Press Ctrl+C";
  if ($("#toast")) say(text); else button.textContent = text;
});

// A second click on a form sends nothing.
document.addEventListener("submit", (event) => {
  if (event.target.method === "get" || event.target.method === "dialog") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });

// say shows a text where the page speaks, for eyes and for readers of screens.
function say(text) {
  const toast = $("#toast");
  toast.textContent = text;
  setTimeout(() => { if (toast.textContent === text) toast.textContent = ""; }, 4000);
}

// Keys press what is there: the element that says so, or the row after or before the current one.
const rows = () => [...document.querySelectorAll(".inbox .rows > li")];
const current = () => $(".inbox [aria-current=true]")?.closest("li");
const press = (key) => $(`[data-key="${key}"]`)?.click();
const move = (by) => $("a", rows()[rows().indexOf(current()) + by] ?? document.createElement("li"))?.click();
const decide = (key) => $(".inbox .rows :checked") ? $(`.inbox [data-marked="${key}"]`)?.click() : press(key);
const actions = {
  "/": () => $("input[type=search]")?.select(),
  "?": () => press("?"),
  j: () => move(1), k: () => move(-1), x: () => current() && $("input", current()).click(),
  1: () => decide("1"), 2: () => decide("2"), 3: () => decide("3"), u: () => press("u"),
  e: () => {
    const summary = $('[data-key="e"]');
    if (!summary?.parentElement.open) summary?.click();
    $("textarea", summary?.parentElement)?.focus();
  },
};

// Single letters act only outside fields and without modifiers.
document.addEventListener("keydown", (event) => {
  const search = (event.ctrlKey || event.metaKey) && event.key === "k";
  if (search) return event.preventDefault(), actions["/"]();
  if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
  if (event.repeat && !"jk".includes(event.key)) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select, dialog, [popover]")) return;
  event.preventDefault();
  actions[event.key]();
});
