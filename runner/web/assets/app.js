// What pages gain by script: they follow what happens, obey keys, and send a form once. Every page
// works without it.

// ---- live parts --------------------------------------------------------------------------------
// The stream only says that something changed; the page is then fetched again, and each part
// marked data-part is replaced where it differs. So there is one source of markup: the server.

const said = document.getElementById("said");
let refreshing = false;
let again = false;

function isInUse(part) {
  const at = document.activeElement;
  if (part.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return true;
  return [...part.querySelectorAll("textarea")].some((area) => area.value !== "");
}

function replaceParts(fresh) {
  for (const part of document.querySelectorAll("[data-part]")) {
    const other = fresh.getElementById(part.id);
    if (!other || other.isEqualNode(part)) continue;
    // Words that somebody is writing are kept while there is still a form to send them with.
    if (isInUse(part) && other.querySelector("form")) continue;
    const before = part.dataset.say;
    const open = new Set([...part.querySelectorAll("details[open] > summary")].map((s) => s.textContent));
    const imported = document.importNode(other, true);
    for (const summary of imported.querySelectorAll("details > summary")) {
      if (open.has(summary.textContent)) summary.parentElement.open = true;
    }
    part.replaceWith(imported);
    if (before && imported.dataset.say !== before) {
      said.textContent = "Now " + imported.dataset.say.replace("_", " ");
      document.title = fresh.title;
    }
  }
}

async function refresh() {
  if (refreshing) {
    again = true;
    return;
  }
  refreshing = true;
  try {
    do {
      again = false;
      const answer = await fetch(location.href, { headers: { "X-Live": "1" } });
      if (answer.redirected && new URL(answer.url).pathname === "/login") {
        location.reload();
        return;
      }
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        replaceParts(fresh);
        if (!fresh.body.dataset.live) stopFollowing();
      }
    } while (again);
  } catch {
    // The server is away; the stream comes back by itself, and says so.
  } finally {
    refreshing = false;
  }
}

let source = null;
function follow() {
  const path = document.body.dataset.live;
  if (!path || source || document.hidden) return;
  source = new EventSource(path);
  source.addEventListener("change", refresh);
}
function stopFollowing() {
  source?.close();
  source = null;
  delete document.body.dataset.live;
}
// A hidden page holds no stream: the server's threads are counted.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return follow();
  source?.close();
  source = null;
});
addEventListener("pagehide", () => source?.close());
follow();

// ---- forms ---------------------------------------------------------------------------------------

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "1";
  // After the form's data are taken: the button pressed is one of them.
  setTimeout(() => {
    for (const button of document.querySelectorAll(".decide button")) button.disabled = true;
  });
});
// Back from the page that it led to: it may be sent again.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

// ---- keys ----------------------------------------------------------------------------------------

function move(selector, step, mark) {
  const all = [...document.querySelectorAll(selector)].filter((e) => e.offsetParent !== null);
  if (all.length === 0) return;
  const at = all.findIndex((e) => e.classList.contains(mark));
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  all[at]?.classList.remove(mark);
  next.classList.add(mark);
  next.scrollIntoView({ block: "nearest" });
  (next.querySelector("a, summary") ?? next).focus({ preventScroll: true });
}

function go(rest) {
  const task = location.pathname.match(/^\/tasks\/([^/]+)/);
  if (task) location.assign(`/tasks/${task[1]}${rest}`);
}

const keys = {
  j: () => move("[data-item]", 1, "at"),
  k: () => move("[data-item]", -1, "at"),
  n: () => move("[data-hunk]", 1, "at-hunk"),
  p: () => move("[data-hunk]", -1, "at-hunk"),
  o: () => document.querySelector("[data-item].at a")?.click(),
  d: () => go("/diff"),
  t: () => go(""),
  u: () => location.assign("/tasks"),
  "?": () => document.getElementById("keys")?.showModal(),
};
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, dialog");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = keys[event.key];
  if (!key) return;
  event.preventDefault();
  key();
});

// A link to a line of a folded file unfolds it.
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const file = target?.closest("details");
  if (file && !file.open) {
    file.open = true;
    target.scrollIntoView();
  }
}
addEventListener("hashchange", unfold);
unfold();
