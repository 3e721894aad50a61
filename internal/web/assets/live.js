// Keeps the page as it would be if it were loaded anew: an event of the API's stream,
// or time that passes, has it fetched, and the parts that differ are exchanged.
"use strict";
(() => {
  const body = document.body;
  const stream = body.dataset.stream;
  const every = Number(body.dataset.every || 0) * 1000;
  const button = document.getElementById("live");
  const text = document.getElementById("live-text");
  // The answer to a form that was refused is the page which has the form.
  const here = body.dataset.here;
  if (here && here !== location.pathname + location.search) history.replaceState(null, "", here);
  const leastPause = 1000;
  let paused = sessionStorage.getItem("paused") === "1";
  let source = null;
  let broken = false;
  // When the service was last heard of, and since when it has not been reached.
  let heard = Date.now();
  let lostAt = 0;
  let pending = false;
  let fetching = false;
  // A form is on its way: what the page shows may be gone by now.
  let leaving = false;
  let last = 0;

  const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private windows */ } };
  const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };

  function show() {
    if (!button) return;
    button.hidden = false;
    button.setAttribute("aria-pressed", String(paused));
    button.classList.toggle("broken", broken && !paused);
    text.textContent = paused ? "paused" : broken ? "reconnecting" : "live";
    button.title = paused ? "Go on" : "Pause";
  }

  // reached says whether the service answers. While it does not, a bar says so, and
  // nothing counts on: what the page shows is from when it last did.
  function reached(yes) {
    if (yes) heard = Date.now();
    if (yes === !lostAt) return;
    lostAt = yes ? 0 : heard;
    let bar = document.getElementById("outage");
    if (!bar && !yes) {
      bar = document.createElement("p");
      bar.id = "outage";
      bar.className = "flash bad";
      bar.setAttribute("role", "status");
      document.getElementById("main").prepend(bar);
    }
    if (yes) { bar?.remove(); return; }
    bar.textContent = `The service has not been reached since ${new Date(lostAt).toTimeString().slice(0, 8)}; what stands here is from then.`;
  }

  // inUse says whether exchanging a part would take something from whoever uses it.
  function inUse(part) {
    const active = document.activeElement;
    if (active && part.contains(active) && /^(INPUT|SELECT|TEXTAREA)$/.test(active.tagName)) return true;
    if ([...part.querySelectorAll("input:not([type=hidden]), textarea")].some((field) => field.value !== field.defaultValue)) return true;
    return part.querySelector("details[open]") !== null || !window.getSelection().isCollapsed && part.contains(window.getSelection().anchorNode);
  }

  // place names an element that has the focus, to find its successor.
  function place(part) {
    const active = document.activeElement;
    if (!active || !part.contains(active)) return null;
    const all = [...part.querySelectorAll("a, button")];
    return all.indexOf(active);
  }

  async function refresh() {
    if (fetching || paused || leaving) return;
    fetching = true;
    pending = false;
    last = Date.now();
    try {
      const answer = await fetch(here, { headers: { Accept: "text/html", "X-Sluice-Live": "1" }, cache: "no-store" });
      if (answer.status === 401) { location.reload(); return; }
      // A proxy before it may answer in its place; what is its own has its policy.
      reached(answer.status < 500 || answer.headers.has("Content-Security-Policy"));
      if (answer.ok) exchange(new DOMParser().parseFromString(await answer.text(), "text/html"));
      if (!source) { broken = !answer.ok; show(); }
    } catch {
      broken = true;
      reached(false);
      show();
    } finally {
      fetching = false;
      if (pending) soon();
    }
  }

  function exchange(fresh) {
    label(fresh);
    document.querySelectorAll("[data-part]").forEach((part) => {
      const now = fresh.getElementById(part.id);
      if (!now || now.innerHTML === part.innerHTML || inUse(part)) return;
      const focus = place(part);
      const left = part.querySelector(".scroll")?.scrollLeft;
      part.replaceChildren(...now.childNodes);
      if (left) part.querySelector(".scroll")?.scrollTo({ left });
      if (focus !== null && focus >= 0) part.querySelectorAll("a, button")[focus]?.focus({ preventScroll: true });
    });
    bind(document);
    tick();
  }

  // label has each cell of a wide table say what it is, for narrow screens.
  function label(root) {
    root.querySelectorAll("table").forEach((table) => {
      const names = [...table.querySelectorAll("thead th")].map((h) => h.textContent);
      if (names.length < 3 || table.classList.contains("stacks")) return;
      table.classList.add("stacks");
      table.querySelectorAll("tbody tr").forEach((row) => [...row.cells].forEach((cell, i) => { if (names[i]) cell.dataset.label = names[i]; }));
    });
  }

  // soon refreshes once for all that happens within a moment.
  let timer = null;
  function soon() {
    pending = true;
    if (timer || paused || document.hidden) return;
    timer = setTimeout(() => { timer = null; refresh(); }, Math.max(120, leastPause - (Date.now() - last)));
  }

  function connect() {
    if (!stream || source || paused || document.hidden) return;
    source = new EventSource(stream);
    const mine = source;
    source.onopen = () => { broken = false; reached(true); show(); soon(); };
    source.onerror = () => {
      broken = true;
      show();
      // A page tells whether the service is gone, or the stream alone has ended.
      soon();
      if (mine.readyState === EventSource.CLOSED && source === mine) {
        source = null;
        setTimeout(() => { soon(); connect(); }, 5000);
      }
    };
    for (const name of ["snapshot", "progress", "completion"]) source.addEventListener(name, () => { reached(true); soon(); });
  }

  function disconnect() {
    source?.close();
    source = null;
  }

  function span(seconds) {
    if (seconds < 60) return `${Math.floor(seconds)} s`;
    const two = (a, unit, b, smaller) => (b === 0 || a >= 10 ? `${a} ${unit}` : `${a} ${unit} ${b} ${smaller}`);
    const minutes = Math.floor(seconds / 60);
    if (minutes < 60) return two(minutes, "min", Math.floor(seconds % 60), "s");
    const hours = Math.floor(minutes / 60);
    if (hours < 48) return two(hours, "h", minutes % 60, "min");
    return two(Math.floor(hours / 24), "d", hours % 24, "h");
  }

  function tick() {
    if (lostAt) return;
    document.querySelectorAll("time[data-until]").forEach((t) => {
      const left = (Date.parse(t.dateTime) - Date.now()) / 1000;
      t.textContent = left > 0 ? `in ${span(left)}` : "now";
    });
  }

  function bind(root) {
    root.querySelectorAll("button[data-copy]:not([data-bound])").forEach((b) => {
      b.dataset.bound = "1";
      b.hidden = false;
      b.addEventListener("click", async () => {
        const from = document.getElementById(b.dataset.copy);
        if (navigator.clipboard) {
          await navigator.clipboard.writeText(from.textContent);
        } else {
          // Browsers lend the clipboard to encrypted pages alone: there is the selection.
          window.getSelection().selectAllChildren(from);
          document.execCommand("copy");
          window.getSelection().removeAllRanges();
        }
        const was = b.textContent;
        b.textContent = "copied";
        setTimeout(() => { b.textContent = was; }, 1500);
      });
    });
  }

  button?.addEventListener("click", () => {
    paused = !paused;
    sessionStorage.setItem("paused", paused ? "1" : "0");
    if (paused) disconnect(); else { connect(); soon(); }
    show();
  });

  const theme = document.getElementById("theme");
  if (stored("theme")) document.documentElement.dataset.theme = stored("theme");
  if (theme) {
    theme.hidden = false;
    theme.addEventListener("click", () => {
      const dark = getComputedStyle(document.documentElement).colorScheme === "dark" ||
        !document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches;
      document.documentElement.dataset.theme = dark ? "light" : "dark";
      store("theme", dark ? "light" : "dark");
    });
  }

  // A file that is chosen, or dropped, is read into the field that is sent.
  document.addEventListener("change", async (e) => {
    const into = e.target.dataset?.into && document.getElementById(e.target.dataset.into);
    if (into && e.target.files?.length) into.value = await e.target.files[0].text();
  });

  document.addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)) return;
    const field = document.querySelector(".filters input");
    if (field) { e.preventDefault(); field.focus(); }
  });
  // A browser has few connections for a host, and a stream takes one: tabs that nobody
  // sees give theirs back.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { disconnect(); return; }
    connect();
    if (stream || pending) soon();
  });
  document.addEventListener("submit", () => { leaving = true; });
  window.addEventListener("pageshow", () => { leaving = false; });
  window.addEventListener("pagehide", disconnect);
  if (every) setInterval(() => { if (!document.hidden) soon(); }, every);
  setInterval(tick, 1000);
  document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  label(document);
  bind(document);
  connect();
  show();
})();
