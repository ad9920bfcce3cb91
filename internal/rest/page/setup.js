
"use strict";
const at = (id) => document.getElementById(id);
const post = async (path, body) => {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  return { status: answer.status, body: await answer.json().catch(() => ({})) };
};
const guarded = (button, note, act) => async (event) => {
  event.preventDefault();
  at(button).disabled = true;
  at(note).textContent = "";
  try {
    at(note).textContent = (await act()) || "";
  } catch {
    at(note).textContent = "The server cannot be reached. Is it still running?";
  }
  at(button).disabled = false;
};
history.replaceState(null, "", location.pathname);
at("form").addEventListener("submit", guarded("create", "flaw", async () => {
  const fields = Object.fromEntries(new FormData(at("form")));
  if (!fields.name) delete fields.name;
  const { status, body } = await post("/v1/auth/setup", fields);
  if (status === 404) return "This link was used or has expired. Restart the server to get a new one, as long as there is no user.";
  if (status !== 201) return body.message || "That did not work. Try again.";
  at("form").hidden = true;
  at("welcome").hidden = false;
  at("who").textContent = body.user.email;
  at("welcome").focus();
}));
at("key").addEventListener("click", guarded("key", "keyflaw", async () => {
  const { status, body } = await post("/v1/api-keys", { name: "first key" });
  if (status !== 201) return body.message || "That did not work. Try again.";
  at("key").hidden = true;
  at("shown").hidden = false;
  at("secret").textContent = body.apiKey;
}));
at("create").disabled = false;
