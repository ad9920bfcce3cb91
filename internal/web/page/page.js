"use strict";
for (const button of document.querySelectorAll("button[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    let done = false;
    try {
      await navigator.clipboard.writeText(text.textContent);
      done = true;
    } catch { // without https there is no clipboard: select the text instead
      getSelection().selectAllChildren(text);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Press Ctrl+C";
  });
}
for (const form of document.forms) { // a second click sends nothing
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
