// A question is a command line. The fields are a view of it: they read their values from its words and write them there.
"use strict";
const $ = (id) => document.getElementById(id);
const catalogue = JSON.parse($("catalogue").textContent);
const first = "kvplan pick --gpu rtx-4090 --max-model-len 16k";
const example = "llama-3.1-8b.json";

function element(name, properties = {}, ...children) {
  const out = Object.assign(document.createElement(name), properties);
  out.append(...children);
  return out;
}

// --- the command line ---

// Splits a line into words as a shell does: blanks, quotes, backslashes.
function split(line) {
  const words = [];
  let word = null;
  let quote = "";
  for (let at = 0; at < line.length; ++at) {
    const c = line[at];
    if (quote ? c === quote : c === "'" || c === '"') {
      quote = quote ? "" : c;
      word = word ?? "";
    } else if (c === "\\" && quote !== "'" && at + 1 < line.length) {
      word = (word ?? "") + line[++at];
    } else if (!quote && /\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + c;
    }
  }
  if (word !== null) words.push(word);
  return words;
}

const quoted = (word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'");
const joined = (words) => words.map(quoted).join(" ");

// The options that take a value, by each of their names. All others are flags.
const valued = new Map();
for (const option of catalogue.options) for (const name of option.names) valued.set(name, option);

// Finds the command, the models and the options among the words, with their positions.
function read(words) {
  const out = { command: "", place: -1, models: [], options: [] };
  for (let at = words[0] === "kvplan" ? 1 : 0; at < words.length && words[at] !== "--"; ++at) {
    const [, name, value] = /^(-[^=]*)(?:=(.*))?$/s.exec(words[at]) ?? [];
    if (!name || name === "-") {
      if (out.place < 0 && !out.models.length && catalogue.commands.includes(words[at])) [out.command, out.place] = [words[at], at];
      else out.models.push({ at, value: words[at] });
    } else if (!valued.has(name)) {
      out.options.push({ at, name, count: 1, value: "" });
    } else if (value !== undefined) {
      out.options.push({ at, name, count: 1, value });
    } else {
      out.options.push({ at, name, count: 2, value: words[at + 1] ?? "" });
      ++at;
    }
  }
  return out;
}

// The last option among the words that has one of `names`, in any spelling.
function find(words, names) {
  const known = names.map((name) => valued.get(name)).filter(Boolean);
  return read(words).options.findLast(({ name }) => names.includes(name) || known.includes(valued.get(name)));
}

function set(words, names, value) {
  const found = find(words, names);
  const put = value === "" ? [] : value === null ? [names[0]] : [found?.count === 2 ? found.name : names[0], value];
  if (found) words.splice(found.at, found.count, ...put);
  else words.splice(words.includes("--") ? words.indexOf("--") : words.length, 0, ...put);
}

function setCommand(words, command) {
  const { place } = read(words);
  if (place >= 0) words.splice(place, 1);
  if (command) words.splice(words[0] === "kvplan" ? 1 : 0, 0, command);
}

// `pick` takes no model, and no other question has these options.
function leavePick(words) {
  if (read(words).command !== "pick") return;
  setCommand(words, "");
  for (const name of ["--task", "--all"]) set(words, [name], "");
}

function setModel(words, model) {
  if (model !== "") {
    set(words, ["--command"], ""); // a model or a launch command
    leavePick(words);
  }
  const { models, place } = read(words);
  const put = model === "" ? [] : [model];
  if (models.length) words.splice(models[0].at, 1, ...put);
  else words.splice(place >= 0 ? place + 1 : words[0] === "kvplan" ? 1 : 0, 0, ...put);
}

// Another question about the same. Of the options, `pick` takes those that say what it runs on.
let lastModel = "";
const ofPick = ["--engine", "--gpu", "--gpu-memory", "--gpu-count", "--gpu-file", "--host-memory", "--max-model-len", "--users", "--task", "--all", "--format", "--json"];
function setQuestion(words, command) {
  const { models, options } = read(words);
  lastModel = models[0]?.value ?? lastModel;
  if (command !== "pick") leavePick(words);
  setCommand(words, command);
  if (command === "pick") {
    for (let left; (left = read(words).models[0]); ) words.splice(left.at, 1);
    for (const { name } of options) if (!ofPick.some((one) => one === name || (valued.has(one) && valued.get(one) === valued.get(name)))) set(words, [name], "");
    if (!find(words, ["--gpu", "--gpu-memory"])) set(words, ["--gpu"], "rtx-3060");
    if (/,/.test(find(words, ["--engine"])?.value ?? "")) set(words, ["--engine"], "");
  } else if (!models.length && !find(words, ["--command"])) {
    setModel(words, lastModel || example);
    if (command === "" && !lastModel && !find(words, ["--engine"])) set(words, ["--engine"], "vllm");
  }
}

// --- files ---

const files = new Map(); // what may be named: a text, or a File of which the program reads the beginning
let version = 1;
const linkLimit = 100000; // characters of a link's files, packed
const textLimit = 16 << 20; // the same unpacked, in bytes: no config that the program reads is larger
const fileLimit = 1000;
const tokens = /hf_[A-Za-z0-9]{20,}/g;

function onlyExamples() {
  files.clear();
  for (const [name, text] of Object.entries(catalogue.examples)) files.set(name, { text, example: true });
  ++version;
}

function give(name, file) {
  files.set(name, file);
  ++version;
}

// The files that the words name: a model's file, or the files of its folder.
function named(words) {
  const paths = words.flatMap((word) => word.split("=")).filter((word) => word && !word.startsWith("-"));
  return [...files].filter(([name, file]) => !file.example && paths.some((path) => name === path || name.startsWith(path + "/")));
}

async function take(list) {
  const given = [...list];
  if (!given.length) return;
  const folder = given.length > 1 ? "model/" : ""; // several files are those of one model
  for (const file of given) {
    const isText = file.size < 4e6 && !/\.(gguf|safetensors)$/i.test(file.name);
    give(folder + file.name, isText ? { text: await file.text() } : { blob: file });
  }
  const gguf = given.map((file) => file.name).filter((name) => /\.gguf$/i.test(name)).sort()[0];
  const words = split($("command").value);
  setModel(words, folder ? (gguf ? folder + gguf : "model") : given[0].name);
  // A GGUF file sets its own engine and type.
  if (gguf) for (const option of ["--engine", "--weights"]) set(words, [option], "");
  put(words);
}

// --- links: the command line, and the texts that it names ---

const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const bytesOf = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

async function through(bytes, stream, limit = Infinity) {
  const parts = [];
  let size = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (let part; !(part = await reader.read()).done; parts.push(part.value))
    if ((size += part.value.length) > limit) throw new RangeError((await reader.cancel(), "too much"));
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

// The link, and the files that are too large for it.
async function link(line) {
  const words = split(line);
  const texts = {};
  let left = [];
  // A token is secret.
  for (let token; (token = find(words, ["--token"])); left.push("the token")) words.splice(token.at, token.count);
  for (const [name, file] of named(words))
    if (file.text === undefined) left.push(name);
    else texts[name] = file.text;
  let out = "#q=" + encodeURIComponent(joined(words).replaceAll(tokens, "hf_***")).replaceAll("%20", "+");
  if (Object.keys(texts).length) {
    const packed = base64(await through(new TextEncoder().encode(JSON.stringify(texts).replaceAll(tokens, "hf_***")), new CompressionStream("deflate-raw")));
    if (packed.length < linkLimit) out += "&f=" + packed;
    else left = left.concat(Object.keys(texts));
  }
  return { out, left };
}

let linkTrouble = "";
const isPlain = (name) => name.length < 300 && !name.includes("\0") && name.split("/").every((part) => part && part !== "." && part !== "..");

// A link's command line and files, and what is wrong with the link. Nothing in a link is trusted.
async function restored(hash) {
  const out = { line: first, texts: [], trouble: "" };
  const parts = new URLSearchParams(hash.slice(1, 2 * linkLimit));
  out.line = parts.get("q") ?? first;
  const packed = (parts.has("q") && parts.get("f")) || "";
  try {
    if (packed.length > linkLimit) throw new RangeError("too much");
    if (packed) out.texts = Object.entries(JSON.parse(new TextDecoder().decode(await through(bytesOf(packed), new DecompressionStream("deflate-raw"), textLimit))));
    if (out.texts.length > fileLimit) throw new RangeError("too much");
  } catch (error) {
    out.texts = [];
    out.trouble = error instanceof RangeError ? "The files in this link are too large, and were left out." : "The end of this link is missing, and with it the files that it held.";
  }
  return out;
}

// --- the program ---

let worker = null;
let waiting = new Map();
let next = 0;
let busy = null;

let script = "";

function begin() {
  worker?.terminate();
  waiting.clear();
  busy = null;
  script ||= URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
  worker = new Worker(script);
  worker.onmessage = ({ data }) => {
    waiting.get(data.id)?.(data);
    waiting.delete(data.id);
  };
  worker.onerror = (event) => {
    for (const answered of waiting.values()) answered({ exit: 2, out: "", err: "kvplan: the program cannot start in this browser (" + event.message + ")" });
    waiting.clear();
  };
  send({ packed: $("wasm").textContent });
}

function send(message) {
  const id = ++next;
  const list = message.words ? [...files].map(([name, { text, blob }]) => ({ name, text, blob })) : undefined;
  worker.postMessage({ id, files: list, version, ...message });
  return new Promise((answered) => waiting.set(id, answered));
}

// The output format that the words select, by the program's own rule: --json, else the last --format, else html. The text itself
// does not show whether it is HTML: its first line may be a file's name.
function formOf(words) {
  const { command, options } = read(words);
  if (options.some(({ name }) => name === "--json")) return "json";
  const formless = ["schema", "completions", "man", "help"].includes(command) || words.length < (words[0] === "kvplan" ? 2 : 1);
  return find(words, ["--format"])?.value ?? (formless ? "" : "html");
}

async function program(words) {
  const asked = words[0] === "kvplan" ? words.slice(1) : [...words];
  if (formOf(words) === "html" && !find(words, ["--format"])) set(asked, ["--format"], "html");
  return send({ words: asked, output: find(words, ["--output"])?.value });
}

let asked = 0;
async function ask() {
  const mine = ++asked;
  const line = $("command").value;
  if (busy) {
    // A new command soon stops an older one that still waits for the Hub or searches.
    await Promise.race([busy, new Promise((later) => setTimeout(later, 1000))]);
    if (mine !== asked) return;
    if (busy) begin();
  }
  const slow = setTimeout(() => say("working ..."), 150);
  const began = performance.now();
  const words = split(line);
  const running = program(words);
  busy = running;
  const reply = await running;
  if (busy === running) busy = null;
  clearTimeout(slow);
  if (mine !== asked) return;
  const { out, left } = await link(line);
  if (mine !== asked) return;
  history.replaceState(null, "", out);
  show(reply, formOf(words), [
    ...named(words).filter(([, file]) => file.link).map(([name]) => `${name} came with the link that you opened.`),
    ...left.map((name) => `A link to this answer does not hold ${name}.`),
  ]);
  say(`answered in ${Math.max(1, Math.round(performance.now() - began))} ms by this browser`);
}

// --- the answer ---

function say(text) {
  $("state").textContent = text;
}

const lines = (text) => text.split(/[\n\r]/).map((line) => line.replace(/\x1b\[[0-9;]*[A-Za-z]/g, "").trim()).filter(Boolean);

// Rebuilds a report from the elements and attributes that the program writes. Nothing else gets into the document.
const elements = new Set("h1 h2 p b i u ul li sup span div section table thead tbody tr th td figure figcaption code details summary svg path text".split(" "));
const attributes = new Set("class role aria-label aria-hidden data-name scope viewBox d x y text-anchor".split(" "));
const lengths = /^(left|right|width):([\d.]+%|calc\([\d.]+% - 2px\))$/;

function rebuilt(from, into) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) into.append(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE || !elements.has(node.localName)) continue;
    const svg = ["svg", "path", "text"].includes(node.localName);
    const out = document.createElementNS(svg ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml", node.localName);
    for (const { name, value } of node.attributes) if (attributes.has(name)) out.setAttribute(name, value);
    const [, property, length] = lengths.exec(node.getAttribute("data-style") ?? "") ?? [];
    if (property) out.style.setProperty(property, length);
    rebuilt(node, out);
    into.append(out);
  }
}

function show({ exit, out, err }, form, remarks) {
  const box = $("answer");
  box.replaceChildren();
  for (const text of lines(err))
    box.append(element("p", { className: "verdict " + (exit > 1 ? "bad" : "warn"), role: exit > 1 ? "alert" : "" },
      element("b", {}, exit > 1 ? "NO ANSWER " : "NOTE "), element("span", {}, text.replace(/^kvplan: /, ""))));
  if (form === "html" && out.startsWith("<!DOCTYPE html>")) {
    // Drops the styles, which the page's security policy forbids; rebuilt() sets those of the bars.
    const body = out.slice(out.indexOf("<body>")).replaceAll(' style="', ' data-style="');
    rebuilt(new DOMParser().parseFromString(body, "text/html").body, box);
    offer(box);
  } else if (out) {
    const copy = element("button", { type: "button", onclick: () => copied(copy, out) }, "Copy");
    box.append(element("p", { className: "buttons" }, copy), element("pre", { tabIndex: 0 }, out));
  }
  const title = box.querySelector("h1")?.textContent;
  document.title = title ? title + " - kvplan" : "kvplan";
  $("aloud").textContent = box.querySelector(".verdict")?.textContent ?? "";
  if (linkTrouble) box.prepend(element("p", { className: "verdict warn" }, linkTrouble));
  for (const text of remarks) box.append(element("p", { className: "small muted" }, text));
}

// Plans a model from `pick` with the type and the engine of its row.
function planned(cells) {
  const words = split($("command").value);
  if (!find(words, ["--engine"])) set(words, ["--engine"], find(words, ["--users"]) ? "vllm" : "llama.cpp");
  setQuestion(words, "");
  setModel(words, cells.model);
  set(words, ["--weights"], cells.type);
  return words;
}

// A click applies a change from the report: a remedy, a row of what fits, or a model that fits.
function offer(box) {
  const isPick = read(split($("command").value)).command === "pick";
  for (const cell of isPick ? box.querySelectorAll("td[data-name=model] span") : []) {
    const row = Object.fromEntries([...cell.closest("tr").cells].map((one) => [one.dataset.name, one.textContent]));
    cell.replaceChildren(element("button", { type: "button", className: "apply", title: "Plan this model", onclick: () => put(planned(row)) }, row.model));
  }
  for (const cell of box.querySelectorAll("td:first-child[data-name=''] span, td[data-name=options] span")) {
    const change = split(cell.textContent);
    const { models, options } = read(change);
    const known = options.every(({ name, count }) => count === 2 || catalogue.flags.includes(name));
    if (!change[0]?.startsWith("-") || models.length || !known) continue;
    const apply = () => {
      const words = split($("command").value);
      for (const { name, count, value } of options) set(words, [name], count === 2 ? value : null);
      if (cell.parentElement.dataset.name === "options") setCommand(words, "");
      put(words);
      $("answer").focus();
    };
    cell.replaceChildren(element("button", { type: "button", className: "apply", title: "Plan again with this", onclick: apply }, cell.textContent));
  }
}

async function copied(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => (button.textContent = before), 1500);
}

// --- the fields ---

const fields = {
  engine: ["--engine"],
  gpu: ["--gpu"],
  count: ["--gpu-count"],
  context: ["--max-model-len", "--ctx-size"],
  seqs: ["--num-seqs"],
  users: ["--users"],
  average: ["--avg-len"],
  weights: ["--weights"],
  kv: ["--kv-cache-dtype"],
};
const questions = { pick: "What can I run?", "": "Plan", fit: "What fits", compare: "Compare types", explain: "Explain" };
const formsOfAnswer = { "": "a page", table: "text", json: "JSON", markdown: "Markdown", csv: "CSV", args: "the engine's command", k8s: "Kubernetes" };

function pick(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.append(new Option(value, value));
  select.value = value;
}

// Engines begin their lines with a level, a time or their own name; a command has few lines.
const isLog = (text) => text.split("\n").length > 5 && /^(\[20|\(\w+ |20\d\d-|(INFO|WARNING|ERROR)[ :]|time=20|llama_|load_|ggml_|build: |Traceback|.*\b(INFO|WARNING|ERROR) \d)/m.test(text);

// Sets the fields from the words.
function view(words) {
  const { command, models } = read(words);
  if (document.activeElement !== $("model")) $("model").value = models[0]?.value ?? "";
  for (const [id, names] of Object.entries(fields)) {
    const value = find(words, names)?.value ?? "";
    if ($(id).tagName === "SELECT") pick($(id), value);
    else if (document.activeElement !== $(id)) $(id).value = value;
  }
  for (const box of document.querySelectorAll(".of-fit")) {
    const id = box.querySelector("input").id;
    box.hidden = !$(id).value && command !== "fit" && (command !== "pick" || id !== "users");
  }
  const usual = command === "pick" ? ($("users").value ? "vllm" : "llama.cpp") : "";
  $("engine").options[0].text = usual || "none: what the architecture needs";
  $("in-short").textContent = [$("engine").value || usual || "no engine", $("gpu").value || "no GPU", $("context").value && $("context").value + " tokens"].filter(Boolean).join(", ");
  pick($("examples"), catalogue.examples[models[0]?.value] === undefined ? "" : models[0].value);
  for (const tab of $("questions").children) {
    const chosen = tab.dataset.command === (command === "plan" ? "" : command);
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
  }
  if (![...$("questions").children].some((tab) => tab.tabIndex === 0)) $("questions").firstChild.tabIndex = 0;
  pick($("form-of-answer"), find(words, ["--json"])?.name === "--json" ? "json" : find(words, ["--format"])?.value ?? "");
}

function put(words) {
  if (words[0] !== "kvplan") words.unshift("kvplan");
  $("command").value = joined(words);
  view(words);
  ask();
}

const edit = (change) => {
  const words = split($("command").value);
  change(words);
  put(words);
};

function fill() {
  const engines = [...new Set(catalogue.engines.map(({ engine }) => engine))];
  $("engine").append(new Option("none: what the architecture needs", ""), ...engines.filter((name) => name !== "logical").map((name) => new Option(name, name)));
  for (const { name, vendor, memory_bytes } of catalogue.gpus)
    $("gpus").append(new Option(`${vendor}, ${(memory_bytes / 2 ** 30).toFixed(1).replace(".0", "")} GiB`, name));
  for (const { id, tag } of catalogue.models) $("models").append(new Option(tag ?? "", id));
  $("count").append(new Option("1", ""), ...["2", "4", "8", "16"].map((n) => new Option(n, n)));
  $("contexts").append(...["4k", "8k", "16k", "32k", "64k", "128k", "256k", "1M", "auto"].map((value) => new Option(value, value)));
  $("weights").append(new Option("as it is", ""), ...valued.get("--weights").choices.map((name) => new Option(name, name)));
  $("kv").append(new Option("auto", ""), ...valued.get("--kv-cache-dtype").choices.filter((name) => name !== "auto").map((name) => new Option(name, name)));
  $("examples").append(new Option("Examples", ""), ...Object.keys(catalogue.examples).map((name) => new Option(name.replace(/\.json$/, ""), name)));
  for (const [command, title] of Object.entries(questions)) {
    const tab = element("button", { type: "button", role: "tab", onclick: () => edit((words) => setQuestion(words, command)) }, title);
    tab.dataset.command = command;
    tab.setAttribute("aria-controls", "answer");
    $("questions").append(tab);
  }
  for (const [form, title] of Object.entries(formsOfAnswer)) $("form-of-answer").append(new Option(title, form));
}

function listen() {
  let later = 0;
  const cards = new Set(catalogue.gpus.map(({ name }) => name));
  const models = new Set(catalogue.models.map(({ id }) => id));
  for (const [id, names] of Object.entries(fields)) {
    const change = () => {
      clearTimeout(later);
      const value = $(id).value.trim();
      if (value !== (find(split($("command").value), names)?.value ?? "")) edit((words) => set(words, names, value));
    };
    $(id).addEventListener("change", change);
    // An incomplete command line is not run.
    if ($(id).tagName === "INPUT")
      $(id).addEventListener("input", () => {
        clearTimeout(later);
        if (/^([0-9]+[kKmM]?|auto|)$/.test($(id).value) || (id === "gpu" && cards.has($(id).value))) later = setTimeout(change, 500);
      });
  }
  const byName = () => {
    clearTimeout(later);
    edit((words) => setModel(words, $("model").value.trim()));
  };
  $("model").addEventListener("change", byName);
  $("model").addEventListener("input", () => {
    clearTimeout(later);
    if (models.has($("model").value)) later = setTimeout(byName, 500);
  });
  $("examples").addEventListener("change", () => $("examples").value && edit((words) => setModel(words, $("examples").value)));
  $("form").addEventListener("submit", (event) => event.preventDefault());
  $("command").addEventListener("change", () => put(split($("command").value)));
  $("form-of-answer").addEventListener("change", () => edit((words) => {
    set(words, ["--json"], "");
    set(words, ["--format"], $("form-of-answer").value);
  }));
  $("questions").addEventListener("keydown", (event) => {
    const tabs = [...$("questions").children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tab = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    tab.focus();
    tab.click();
  });
  $("choose").addEventListener("click", () => $("files").click());
  $("files").addEventListener("change", () => take($("files").files));
  $("paste").addEventListener("click", () => {
    $("pasting").hidden = !$("pasting").hidden;
    $("paste").setAttribute("aria-expanded", !$("pasting").hidden);
    if (!$("pasting").hidden) $("pasted").focus();
  });
  $("pasted").addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(() => {
      const text = $("pasted").value;
      if (isLog(text)) {
        give("start.log", { text });
        put(["kvplan", "check-log", "start.log"]);
        return;
      }
      if (/^\s*(\{|$)/.test(text) && !/"(containers|services|command|args)"\s*:/.test(text)) {
        give("config.json", { text });
        edit((words) => setModel(words, "config.json"));
        return;
      }
      // The pasted command sets the engine, lengths and types, so those of the fields are removed.
      give("command.txt", { text });
      edit((words) => {
        const gpu = find(words, ["--gpu"])?.value;
        words.splice(0, words.length, "kvplan", ...(gpu ? ["--gpu", gpu] : []), "--command", "command.txt");
      });
    }, 300);
  });
  $("copy").addEventListener("click", () => copied($("copy"), location.href));
  const dropping = (is) => document.body.classList.toggle("dropping", is);
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    dropping(true);
  });
  document.addEventListener("dragleave", () => dropping(false));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    dropping(false);
    take(event.dataTransfer.files);
  });
  window.addEventListener("hashchange", () => open(location.hash));
}

let opened = 0;
async function open(hash) {
  const mine = ++opened;
  const { line, texts, trouble } = await restored(hash);
  if (mine !== opened) return;
  linkTrouble = trouble;
  onlyExamples();
  for (const [name, text] of texts) if (typeof text === "string" && isPlain(name)) give(name, { text, link: true });
  begin(); // the worker before it has the files of an earlier link
  $("pasted").value = (files.get("config.json") ?? files.get("command.txt") ?? files.get("start.log"))?.text ?? $("pasted").value;
  put(split(line));
}

function start() {
  fill();
  listen();
  $("options").open = !matchMedia("(max-width: 52rem)").matches;
  open(location.hash);
  if (location.protocol.startsWith("http")) navigator.serviceWorker?.register("sw.js").catch(() => {});
}

start();
