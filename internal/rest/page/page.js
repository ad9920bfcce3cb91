
"use strict";
for (const button of document.querySelectorAll("button[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    let done = false;
    try {
      await navigator.clipboard.writeText(text.textContent);
      done = true;
    } catch { // over plain http there is no clipboard, but a selection can be copied
      getSelection().selectAllChildren(text);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Press Ctrl+C";
  });
}
