// The page of a review. Everything from the store is set as text, never as HTML.

import { make, Plot } from "./plot.js";

const PAGE = 100, ARROW = { ascending: " ↑", descending: " ↓" };
const SHOWN = ["keep", "id", "speaker", "seconds", "reasons", "text", "snr", "phone_rate", "note"];
const MARKS = { yes: "keep", no: "drop", unsure: "unsure" };
const $ = (id) => document.getElementById(id);

let state = null;
const query = { filter: "", search: "", reason: "", state: "", sort: "", order: "" };
let shown = [...SHOWN], rows = [], total = 0, start = 0, left = 0, current = null, view = "utterances", palette = [];
let loading = 0, saving = Promise.resolve();
const sound = new Audio(), besideSound = new Audio();
let plot = null, beside = null, besideRow = null;

// Requests

async function get(path, parameters = {}) {
  const answer = await fetch(`${path}?${new URLSearchParams(parameters)}`);
  if (path.endsWith("/mel") && answer.ok) return new Uint8Array(await answer.arrayBuffer());
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}

async function post(path, value) {
  let answer;
  try {
    answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });
  } catch {
    throw new Error("Not saved: the server does not answer. Start tts-prep review again, and open the address that it prints.");
  }
  const found = await answer.json();
  if (!answer.ok) throw new Error(`Not saved: ${found.error}`);
  return found;
}

function problem(text) { $("problem").textContent = text; }
function say(text) { $("status").textContent = text; }

// Texts

function number(value) {
  if (typeof value !== "number") return value ?? "";
  const size = Math.abs(value), digits = Number.isInteger(value) ? 0 : size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString("en", { maximumFractionDigits: digits }).replace("-", "−");
}
const count = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
const seconds = (value) => `${value.toFixed(2)} s`;
const column = (key) => state.columns.find((c) => c.key === key);

// The state of the page, and its address

function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(query)) query[name] = parameters.get(name) ?? "";
  start = Number(parameters.get("start")) || 0;
  view = parameters.get("view") ?? "utterances";
  return parameters.get("id");
}

function writeAddress() {
  const parameters = new URLSearchParams();
  if (current) parameters.set("id", current.id);
  for (const [name, value] of Object.entries({ ...query, start: start || "", view: view === "utterances" ? "" : view })) if (value) parameters.set(name, value);
  history.replaceState(null, "", `#${parameters}`);
}

async function readState() {
  state = await get("state");
  palette = Uint8Array.from(state.palette.match(/../g), (pair) => parseInt(pair, 16));
  document.title = `Review: ${state.store}`;
  $("store").textContent = state.store;
  $("footer").textContent = `Decisions are written to ${state.file} at once. tts-prep ${state.version}. ${state.notes.join(" ")}`;
  $("speakers-list").replaceChildren(...state.speakers.map((name) => make("option", { value: name })));
  showCounts(state.counts);
  showReasons();
  showChooser();
  if (!state.measured) {
    if (state.fault) return problem(state.fault);
    setTimeout(async () => { await readState(); if (state.measured) refresh(); }, 700);
  }
}

function showCounts(counts) {
  state.counts = counts;
  const { suspects, decided_suspects: done, decided, utterances, yes, no, unsure, corrected } = counts;
  const measuring = state.measured ? `${number(done)} of ${count(suspects, "suspect")} decided` : state.fault ? "not measured" : "measuring the store…";
  $("progress-text").textContent = `${measuring} · ${number(decided)} of ${count(utterances, "utterance")}: ${number(yes)} keep, ${number(no)} drop, ${number(unsure)} unsure, ${number(corrected)} corrected`;
  $("progress").max = suspects || 1;
  $("progress").value = done;
}

function showReasons() {
  const option = (value, text, title = "") => make("option", { value, title }, text);
  const suspects = state.measured ? [option("*", `all suspects (${number(state.counts.suspects)})`)] : [];
  const reasons = state.reasons.filter((r) => r.count).map((r) => option(r.reason, `${r.reason} (${number(r.count)})`, r.why));
  $("reason").replaceChildren(option("", "all utterances"), ...suspects, ...reasons);
  $("reason").value = query.reason;
}

function showChooser() {
  $("columns").replaceChildren(...state.columns.filter((c) => c.key !== "id").map((c) => {
    const box = make("input", { type: "checkbox", checked: shown.includes(c.key) });
    box.addEventListener("change", () => {
      shown = state.columns.map((k) => k.key).filter((key) => (key === c.key ? box.checked : shown.includes(key)));
      shown = ["keep", "id", ...shown.filter((key) => key !== "keep" && key !== "id")].filter((key) => key !== "keep" || c.key !== "keep" || box.checked);
      refresh();
    });
    return make("label", { title: c.meaning }, box, make("span", {}, c.key));
  }));
}

// The list

function fillQuery() {
  $("filter").value = query.filter;
  $("search").value = query.search;
  $("reason").value = query.reason;
  $("decision-state").value = query.state;
}

async function refresh({ from = 0, choose = null } = {}) {
  const mine = ++loading;
  start = Math.max(0, from);
  fillQuery();
  showView();
  try {
    if (view === "distributions") await showHistograms();
    if (view === "speakers") await showSpeakers();
    const found = await get("rows", { ...query, start, n: PAGE, columns: shown.join(",") });
    if (mine !== loading) return;
    ({ rows, total } = found);
    left = 0;
    problem("");
  } catch (error) {
    if (mine === loading) problem(error.message);
    return;
  }
  showRows();
  writeAddress();
  if (choose !== null && rows.length) await open(rows[choose < 0 ? rows.length - 1 : choose].row);
}

function showRows() {
  const keys = shown.filter((key) => column(key));
  const head = keys.map((key) => {
    const sorted = query.sort === key ? query.order || "ascending" : "";
    const c = column(key);
    const button = make("button", { type: "button", title: [c.meaning, c.unit].filter(Boolean).join(" ") }, c.label + (ARROW[sorted] ?? ""));
    button.addEventListener("click", () => sort(key));
    const cell = make("th", { scope: "col", className: c.kind === "number" ? "number" : "" }, button);
    if (sorted) cell.setAttribute("aria-sort", sorted);
    return cell;
  });
  $("table").tHead.replaceChildren(make("tr", {}, ...head));
  $("table").tBodies[0].replaceChildren(...rows.map((row) => makeRow(row, keys)));
  const last = start + rows.length;
  $("count").textContent = total ? `${number(start + 1)}–${number(last)} of ${number(total)}` : "none";
  $("page-back").disabled = start === 0;
  $("page-on").disabled = last >= total;
  markCurrent();
}

function makeRow(row, keys) {
  const element = make("tr", {}, ...keys.map((key) => makeCell(key, row.cells[key])));
  element.dataset.row = row.row;
  element.addEventListener("click", () => open(row.row));
  return element;
}

function makeCell(key, value) {
  if (key === "id") return make("th", { scope: "row" }, make("button", { type: "button" }, value));
  if (key === "keep") return make("td", { className: `mark ${value}` }, MARKS[value] ?? "");
  const c = column(key);
  return make("td", { className: c.kind === "number" ? "number" : key === "reasons" ? "reason" : "text", title: c.kind === "text" ? value : "" }, number(value));
}

function sort(key) {
  if (query.sort !== key) { query.sort = key; query.order = ""; }
  else if (!query.order) query.order = "descending";
  else { query.sort = ""; query.order = ""; }
  refresh();
}

function markCurrent() {
  for (const element of $("table").tBodies[0].rows) {
    const is = current && Number(element.dataset.row) === current.row;
    if (is) { element.setAttribute("aria-current", "true"); element.scrollIntoView({ block: "nearest" }); } else element.removeAttribute("aria-current");
  }
}

async function step(by) {
  const at = rows.findIndex((row) => current && row.row === current.row);
  const to = at < 0 ? 0 : at + by;
  if (rows[to]) await open(rows[to].row);
  else if (to >= rows.length && start + rows.length < total) await refresh({ from: start + rows.length - left, choose: 0 });
  else if (to < 0 && start > 0) await refresh({ from: start - PAGE, choose: -1 });
}

// The utterance

async function open(row) {
  if (!(await saveCorrections())) return;
  const mine = (open.number = (open.number ?? 0) + 1);
  let data, levels;
  try {
    [data, levels] = await Promise.all([get(`${row}/utterance`), get(`${row}/mel`)]);
  } catch (error) { return problem(error.message); }
  if (mine !== open.number) return;
  sound.pause();
  besideSound.pause();
  current = data;
  $("nothing").hidden = true;
  $("utterance").hidden = false;
  $("beside-box").hidden = true;
  besideRow = null;
  $("id").textContent = data.id;
  $("facts").textContent = [data.speaker, seconds(data.seconds), data.language].filter(Boolean).join(" · ");
  $("text").textContent = data.text;
  $("text").lang = /^[A-Za-z-]{2,20}$/.test(data.language) ? data.language : "";
  $("normalized").textContent = data.normalized || data.normalized_fault;
  $("phonemes").textContent = data.phonemes;
  showReasonsOf(data);
  showMeasures(data);
  showDecision(data.decision);
  plot.time = 0;
  plot.show(data, levels);
  sound.src = `${row}/sound.wav`;
  $("source").textContent = "";
  showTime();
  markCurrent();
  writeAddress();
  say(`${data.id}, ${data.reasons.map((r) => r.reason).join(", ") || "no suspect"}`);
  get(`${row}/waveform`, { n: 2000 }).then((wave) => {
    if (current !== data) return;
    plot.setWave(wave);
    $("source").textContent = `Sound: ${wave.note}.`;
  }, (error) => { if (current === data) $("source").textContent = `No sound: ${error.message}`; });
  get(`${row}/neighbours`).then((found) => { if (current === data) showNeighbours(found); }, () => {});
  if ($("play-at-once").checked) play();
}

function showReasonsOf(data) {
  $("reasons").replaceChildren(...data.reasons.map((r) => {
    const item = make("li", {}, make("strong", {}, r.reason), r.value ? `: ${r.value}. ` : ". ", make("span", { className: "soft" }, r.why));
    if (r.partner !== null) {
      const button = make("button", { type: "button" }, `compare with ${r.partner_id}`);
      button.addEventListener("click", () => showBeside(r.partner));
      item.append(" ", button);
    }
    return item;
  }));
}

function showMeasures(data) {
  $("measures").replaceChildren(...state.columns.filter((c) => !["text", "phoneme_text", "id", "keep", "note", "reasons"].includes(c.key)).map((c) => {
    const value = data.cells[c.key];
    const text = value === null || value === undefined ? "–" : `${number(value)} ${typeof value === "number" ? c.unit : ""}`;
    return make("div", { title: c.meaning }, make("dt", {}, c.label), make("dd", {}, text));
  }));
}

function showNeighbours(found) {
  $("neighbours").replaceChildren(...found.map((n) => {
    const compare = make("button", { type: "button", "aria-label": `Compare with ${n.id}` }, "Compare");
    const go = make("button", { type: "button", "aria-label": `Open ${n.id}` }, "Open");
    compare.addEventListener("click", () => showBeside(n.row));
    go.addEventListener("click", () => open(n.row));
    return make("li", {}, compare, go, make("span", { className: "soft" }, `${n.id} · ${n.speaker} · ${seconds(n.seconds)} · ${n.kind}`), make("p", {}, n.text));
  }));
  if (!found.length) $("neighbours").replaceChildren(make("li", {}, "none"));
}

async function showBeside(row) {
  const [data, levels] = await Promise.all([get(`${row}/utterance`), get(`${row}/mel`)]);
  besideRow = row;
  $("beside-box").hidden = false;
  $("beside-id").textContent = `${data.id}, ${data.speaker}, ${seconds(data.seconds)}: ${data.text}`;
  beside.time = 0;
  beside.show(data, levels);
  besideSound.src = `${row}/sound.wav`;
  get(`${row}/waveform`, { n: 2000 }).then((wave) => { if (besideRow === row) beside.setWave(wave); }, () => {});
}

// Playing

function play(player = sound, of = plot) {
  if (!player.paused) return player.pause();
  (player === sound ? besideSound : sound).pause();
  const span = of.selection;
  if (span && (player.currentTime < span[0] || player.currentTime >= span[1] - 0.01)) player.currentTime = span[0];
  else if (player.ended) player.currentTime = 0;
  player.play().then(() => follow(player, of), (error) => { if (error.name !== "AbortError") problem(`Cannot be played: ${error.message}`); });
}

function follow(player, of) {
  if (player.paused) return;
  const span = of.selection, repeat = player === sound && $("loop").ariaPressed === "true";
  if (span && player.currentTime >= span[1]) {
    if (repeat) player.currentTime = span[0];
    else player.pause();
  }
  of.setTime(player.currentTime, true);
  if (player === sound) showTime();
  requestAnimationFrame(() => follow(player, of));
}

function seek(time) {
  sound.currentTime = Math.min(Math.max(0, time), current.seconds);
  plot.setTime(sound.currentTime, true);
  showTime();
}

function showTime() { $("time").textContent = current ? `${sound.currentTime.toFixed(2)} / ${seconds(current.seconds)}` : ""; }

function toggleLoop() { $("loop").ariaPressed = $("loop").ariaPressed === "true" ? "false" : "true"; }

// Decisions

const FIELDS = [["new-text", "text"], ["new-speaker", "speaker"], ["note", "note"]];

function showDecision(decision) {
  current.decision = decision;
  $("new-text").placeholder = current.text;
  $("new-speaker").placeholder = current.speaker;
  for (const [id, key] of FIELDS) $(id).value = decision[key];
  showMarks();
}

function showMarks() {
  for (const button of document.querySelectorAll("[data-keep]")) button.ariaPressed = String(current.decision.keep === button.dataset.keep);
  for (const [id, key] of FIELDS) $(id).classList.toggle("changed", Boolean(current.decision[key]));
}

// Decisions are sent one after the other, so that the last one counts. The fields are left alone: somebody types there.
function save(decision) {
  const of = current, before = of.decision;
  of.decision = decision;
  showMarks();
  saving = saving.then(async () => {
    try {
      const changed = Object.entries(decision).filter(([key, value]) => value !== before[key]);
      const found = await post("decide", { row: of.row, ...Object.fromEntries(changed) });
      problem("");
      say(`${of.id}: saved`);
      if (of.decision === decision) takeOver(of, found.decision);
      take(found);
      return true;
    } catch (error) {
      if (of.decision === decision) of.decision = before;
      showMarks();
      problem(error.message);
      return false;
    }
  });
  return saving;
}

// Another window may have decided other fields meanwhile. What was not typed here is taken from there.
function takeOver(of, found) {
  const now = current === of ? typed() : {};
  for (const [id, key] of FIELDS) if (now[key] === of.decision[key] && found[key] !== now[key]) $(id).value = found[key];
  of.decision = found;
  showMarks();
}

function take({ row, decision, counts }) {
  showCounts(counts);
  if (row === null) return;
  const listed = rows.find((r) => r.row === row);
  if (listed) {
    const before = listed.cells.keep;
    listed.cells.keep = decision.keep;
    if ("note" in listed.cells) listed.cells.note = decision.note;
    if (query.state === "undecided") left += (decision.keep ? 1 : 0) - (before ? 1 : 0);
    const keys = shown.filter((key) => column(key));
    $("table").querySelector(`tr[data-row="${row}"]`)?.replaceWith(makeRow(listed, keys));
  }
  markCurrent();
}

async function decide(keep) {
  if (!current) return;
  const value = current.decision.keep === keep ? "" : keep;
  if ((await save({ ...typed(), keep: value })) && value && $("go-on").checked) await step(1);
}

// What is in the fields of corrections; a text that is as in the store is none.
function typed() {
  const line = (id) => $(id).value.replace(/\s+/g, " ").trim();
  const text = line("new-text"), speaker = line("new-speaker");
  return { text: text === current.text ? "" : text, speaker: speaker === current.speaker ? "" : speaker, note: line("note") };
}

async function saveCorrections() {
  if (!current) return true;
  const now = typed(), { text, speaker, note, keep } = current.decision;
  if (now.text === text && now.speaker === speaker && now.note === note) return true;
  return save({ ...now, keep });
}

async function undo() {
  try {
    await saving;
    const found = await post("undo", {});
    if (found.row === null) return say("Nothing to undo");
    take(found);
    if (current && current.row === found.row) showDecision(found.decision);
    else await open(found.row);
    say("Undone");
  } catch (error) { problem(error.message); }
}

// Distributions and speakers

function showView() {
  for (const button of document.querySelectorAll("[data-view]")) button.ariaPressed = String(button.dataset.view === view);
  for (const name of ["utterances", "distributions", "speakers"]) $(name).hidden = name !== view;
}

async function showHistograms() {
  const found = await get("histograms", query);
  $("distribution-count").textContent = `${count(found.total, "utterance")}. Choose a bar to see its utterances; red parts are suspects.`;
  $("histograms").replaceChildren(...found.histograms.map(histogram));
}

function histogram(h) {
  const most = Math.max(...h.counts), bars = make("div", { className: "bars-box", role: "group", "aria-label": `${h.label}: bars` });
  h.counts.forEach((n, i) => {
    const name = `${number(h.edges[i])} to ${number(h.edges[i + 1])} ${h.unit}: ${count(n, "utterance")}, ${count(h.suspects[i], "suspect")}`;
    const rest = make("i"), suspect = make("i", { className: "suspect" });
    const height = (value) => (value ? `${Math.max(1.5, (100 * value) / most)}%` : "0");
    rest.style.height = height(n - h.suspects[i]);
    suspect.style.height = height(h.suspects[i]);
    const bar = make("button", { type: "button", title: name, "aria-label": name, tabIndex: i ? -1 : 0 }, rest, suspect);
    bar.addEventListener("click", () => filterRange(h.key, h.edges[i], h.edges[i + 1]));
    bar.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: bar.previousElementSibling, ArrowRight: bar.nextElementSibling }[event.key];
      if (to?.tagName !== "BUTTON") return;
      bar.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
      event.stopPropagation();
    });
    bars.append(bar);
  });
  const first = h.edges[0], last = h.edges[h.edges.length - 1];
  for (const limit of h.limits) if (limit >= first && limit <= last) {
    const line = make("span", { className: "limit" });
    line.style.left = `${(100 * (limit - first)) / (last - first)}%`;
    bars.append(line);
  }
  const caption = make("figcaption", {}, `${h.label} `, make("small", {}, h.unit));
  const ends = make("div", { className: "ends" }, make("span", {}, number(first)), make("span", {}, `up to ${number(most)}`), make("span", {}, number(last)));
  return make("figure", { className: "histogram", title: h.meaning }, caption, bars, ends);
}

function filterRange(key, low, high) {
  const own = new RegExp(`(^| and )-?[0-9.e+-]+ <= ${key} < -?[0-9.e+-]+`);
  const rest = query.filter.replace(own, "").replace(/^ and /, "");
  const text = (value) => String(Number(value.toPrecision(10)));
  query.filter = [rest && rest.includes(" or ") && !/^\(.*\)$/.test(rest) ? `(${rest})` : rest, `${text(low)} <= ${key} < ${text(high)}`].filter(Boolean).join(" and ");
  view = "utterances";
  refresh();
}

async function showSpeakers() {
  const { columns, speakers } = await get("speakers");
  const names = [["speaker", ""], ["utterances", ""], ["minutes", ""], ["suspects", ""], ...columns];
  const value = (s, i) => [s.name, s.utterances, s.seconds / 60, s.suspects][i] ?? s.means[i - 4];
  let by = showSpeakers.by ?? 2, down = showSpeakers.down ?? true;
  const show = () => {
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : (a ?? Infinity) - (b ?? Infinity));
    const sorted = [...speakers].sort((a, b) => (down ? -1 : 1) * compare(value(a, by), value(b, by)));
    $("speaker-table").tHead.replaceChildren(make("tr", {}, ...names.map(([name, unit], i) => {
      const button = make("button", { type: "button" }, `${name} ${unit}${i === by ? ARROW[down ? "descending" : "ascending"] : ""}`);
      button.addEventListener("click", () => { down = by === i ? !down : i > 0; by = i; showSpeakers.by = by; showSpeakers.down = down; show(); });
      const cell = make("th", { scope: "col", className: i ? "number" : "" }, button);
      if (i === by) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      return cell;
    })));
    $("speaker-table").tBodies[0].replaceChildren(...sorted.map((s) => {
      const name = make("button", { type: "button" }, s.name || "(none)");
      name.addEventListener("click", () => { query.filter = `speaker == ${JSON.stringify(s.name)}`; view = "utterances"; refresh(); });
      const cells = names.slice(1).map((_, i) => {
        const z = s.z[i - 3];
        const cell = make("td", { title: typeof z === "number" ? `z = ${z.toFixed(1)}` : "" }, number(value(s, i + 1)));
        if (Math.abs(z) > 2) cell.className = "z far";
        return cell;
      });
      return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
    }));
  };
  show();
}

// Keys

const KEYS = {
  j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
  " ": () => current && play(), l: toggleLoop,
  ArrowLeft: () => current && seek(sound.currentTime - 0.1), ArrowRight: () => current && seek(sound.currentTime + 0.1),
  "[": () => current && plot.select(sound.currentTime, plot.selection ? plot.selection[1] : plot.end),
  "]": () => current && plot.select(plot.selection ? plot.selection[0] : 0, sound.currentTime),
  "+": () => current && plot.setZoom(1.5), "=": () => current && plot.setZoom(1.5), "-": () => current && plot.setZoom(1 / 1.5),
  y: () => decide("yes"), n: () => decide("no"), u: () => decide("unsure"), z: undo,
  c: () => current && edit("new-text", current.text), s: () => current && edit("new-speaker", ""), m: () => current && edit("note", ""),
  b: () => besideRow !== null && play(besideSound, beside),
  "/": () => $("search").focus(), f: () => $("filter").focus(), "?": () => $("help").showModal(),
  Escape: () => current && plot.select(0, 0),
};

function edit(id, text) {
  const field = $(id);
  if (!field.value) field.value = text;
  field.focus();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const target = event.target, field = target.matches("input:not([type=checkbox]), textarea, select");
  if (field) {
    if (event.key === "Escape") {
      if (target.closest("#corrections") && current) showDecision(current.decision);
      target.blur();
    } else if (event.key === "Enter" && target.closest("#corrections")) {
      event.preventDefault();
      saveCorrections();
      target.blur();
    }
    return;
  }
  // A control that was reached by keyboard takes the keys that operate it.
  if ([" ", "Enter"].includes(event.key) && target.matches("button:focus-visible, summary, input, a:focus-visible")) return;
  if (event.key.startsWith("Arrow") && target.matches(".scroll, .scroller, .bars-box button")) return;
  const action = KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function connect() {
  document.addEventListener("keydown", onKey);
  $("query").addEventListener("submit", (event) => { event.preventDefault(); refresh(); });
  $("reason").addEventListener("change", () => { query.reason = $("reason").value; refresh(); });
  $("decision-state").addEventListener("change", () => { query.state = $("decision-state").value; refresh(); });
  let timer = 0;
  for (const name of ["search", "filter"]) $(name).addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { query[name] = $(name).value.trim(); refresh(); }, 250);
  });
  $("clear").addEventListener("click", () => { for (const name of Object.keys(query)) query[name] = ""; refresh(); });
  $("page-back").addEventListener("click", () => refresh({ from: start - PAGE }));
  $("page-on").addEventListener("click", () => refresh({ from: start + rows.length - left }));
  for (const button of document.querySelectorAll("[data-view]")) button.addEventListener("click", () => { view = button.dataset.view; refresh({ from: start }); });
  for (const button of document.querySelectorAll("[data-keep]")) button.addEventListener("click", () => decide(button.dataset.keep));
  for (const id of ["new-text", "new-speaker", "note"]) $(id).addEventListener("change", saveCorrections);
  $("corrections").addEventListener("submit", (event) => { event.preventDefault(); saveCorrections(); });
  const actions = { previous: () => step(-1), next: () => step(1), play: () => play(), loop: toggleLoop, "zoom-in": () => plot.setZoom(1.5), "zoom-out": () => plot.setZoom(1 / 1.5), undo, "beside-play": () => play(besideSound, beside), "help-button": () => $("help").showModal() };
  for (const [id, action] of Object.entries(actions)) $(id).addEventListener("click", action);
  sound.addEventListener("play", () => { $("play").textContent = "Pause"; });
  for (const name of ["pause", "ended"]) sound.addEventListener(name, () => { $("play").textContent = "Play"; showTime(); });
  sound.addEventListener("ended", () => { if ($("loop").ariaPressed === "true") { sound.currentTime = plot.selection ? plot.selection[0] : 0; play(); } });
  window.addEventListener("hashchange", async () => { const id = readAddress(); await refresh({ from: start }); await openId(id); });
}

async function openId(id) {
  if (!id || (current && current.id === id)) return;
  const { row } = await get("find", { id });
  if (row === null) problem(`There is no utterance ${id} in this store.`);
  else await open(row);
}

async function begin() {
  plot = new Plot($("plot"), [], seek);
  beside = new Plot($("beside"), [], (time) => { besideSound.currentTime = time; beside.setTime(time); });
  const id = readAddress();
  connect();
  try {
    await readState();
    plot.palette = beside.palette = palette;
    await refresh({ from: start });
    await openId(id);
  } catch (error) { problem(error.message); }
  document.documentElement.dataset.ready = "true";
}

begin();
