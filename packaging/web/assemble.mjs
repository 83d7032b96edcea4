// Makes the page and the table from a compiled module:
//
//   node assemble.mjs KVPLAN.js KVPLAN.wasm CONFIGS OUT
//
// Runs the module to get the page's choices (engines, GPUs, types, options) and all figures of the table.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const [glue, wasm, configs, out] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const beside = (name) => readFileSync(join(here, name), "utf8");
// LZMA with the length in its header, packed with Python.
const packer = `
import lzma, struct, sys
whole = sys.stdin.buffer.read()
packed = lzma.compress(whole, lzma.FORMAT_ALONE, filters=[{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0, "dict_size": 1 << 22}])
sys.stdout.buffer.write(packed[:5] + struct.pack("<Q", len(whole)) + packed[13:])`;
const packed = execFileSync("python3", ["-c", packer], { input: readFileSync(wasm), maxBuffer: 1 << 26 });
const workerScript = [readFileSync(glue, "utf8"), beside("unpack.js"), beside("worker.js")].join("\n");

const files = readdirSync(configs).filter((name) => name.endsWith(".json")).sort();
const examples = Object.fromEntries(files.map((name) => [name, readFileSync(join(configs, name), "utf8")]));

// Loads the worker's functions into this script.
const room = new Function("self", workerScript + "\nreturn { compile, start, put, run };");
const program = room({ location: { href: "" } });
await program.compile(packed.toString("base64"));
await program.start();
program.put(Object.entries(examples).map(([name, text]) => ({ name, text })));
function ask(...words) {
  const reply = program.run(words);
  if (!reply.out) throw new Error(`kvplan ${words.join(" ")}: ${reply.err}`);
  return reply.out;
}
const data = (...words) => JSON.parse(ask(...words, "--json"));

// Reads the shell completion for each option's names, whether it takes a value, and the values to choose from.
const completions = ask("completions", "bash");
const options = [];
for (const [, names, choices] of completions.matchAll(/^ {4}(-\S+)\) (?:COMPREPLY=\(\$\(compgen -W '([^']*)')?/gm))
  options.push({ names: names.split("|"), choices: choices ? choices.split(" ") : [] });
const takesValue = new Set(options.flatMap((option) => option.names));
const all = new Set([...completions.matchAll(/options='([^']*)'/g)].flatMap(([, names]) => names.split(" ")));
const { engines, kvplan_version: version } = data("engines");
const { gpus } = data("gpus");
const catalogue = {
  options: options.map(({ names, choices }) => ({ names, choices: names.includes("--gpu") ? [] : choices })),
  flags: [...all].filter((name) => !takesValue.has(name)),
  commands: ["plan", "help", ...completions.match(/^ {4}(compare\|\S+)\)/m)[1].split("|")],
  engines: engines.map(({ engine }) => ({ engine })),
  gpus: gpus.map(({ vendor, name, memory_bytes }) => ({ vendor, name, memory_bytes })),
  models: data("models").models.map(({ id, ollama_tag: tag }) => ({ id, ...(tag && { tag }) })),
  examples,
};

const report = ask(files[0], "--format", "html");
const reportStyle = report.match(/<style>([^]*?)<\/style>/)[1];
const style = reportStyle + beside("page.css");

// The page's address (KVPLAN_PAGE_ADDRESS, ends in /). With it, links to the page show a picture.
const address = process.env.KVPLAN_PAGE_ADDRESS;
if (address && !/^https:\/\/[\w.\/-]+\/$/.test(address)) throw new Error(`KVPLAN_PAGE_ADDRESS: ${address} is no https address that ends in /`);
const shared = (file) => !address ? "" : `<meta property="og:url" content="${address}${file}">\n<meta property="og:image" content="${address}preview.png">\n<meta name="twitter:card" content="summary_large_image">\n`;

// Only the end tag ends the text of a script element.
const inScript = (text) => text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const filled = (template, values) => template.replace(/@([A-Z_]+)@/g, (whole, name) => values[name] ?? whole);
const hashed = (text) => "sha256-" + createHash("sha256").update(text).digest("base64");
const pageScript = inScript(beside("page.js"));
const page = filled(beside("page.html"), {
  STYLE: style,
  STYLE_HASH: hashed(style),
  VERSION: version,
  SHARED: shared(""),
  CATALOGUE: JSON.stringify(catalogue).replaceAll("<", "\\u003c"),
  PAGE_JS: pageScript,
  PAGE_JS_HASH: hashed(pageScript),
  WORKER_JS: inScript(workerScript),
  WASM: packed.toString("base64"),
});

// --- the table ---

// Weight types, each with an engine that is commonly used for it.
const shownTypes = [
  { id: "q4", engine: "llama.cpp", weights: "q4_k_m" },
  { id: "fp8", engine: "vllm", weights: "fp8" },
  { id: "own", engine: "vllm", weights: "" },
];
const shownCards = [
  { cards: ["rtx-3060", "rtx-4060-ti-16gb", "rtx-4090", "rtx-5090", "l40s", "a100-80gb", "h100-80gb", "h200", "mi300x-192gb"], count: 1 },
  { cards: ["h100-80gb", "h200"], count: 8 },
];
const tokens = 8192;
const small = 24 * 1e9; // bytes of a card that runs 4-bit weights rather than others
const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const short = (n) => (n >= 1024 ? Math.floor(n / 1024).toLocaleString("en") + "k" : String(n));
const link = (line) => "./#q=" + encodeURIComponent(line).replaceAll("%20", "+");
const typed = ({ weights }) => (weights ? ["--weights", weights] : []);

// A cell's text, colour and tooltip.
function judged({ error, verdict, max_model_len }) {
  if (error) return ["-", "", error];
  if (verdict.status === "partly_on_cpu") return [/takes ([\d.]+)/.exec(verdict.reason)[1].replace(/\.\d+$/, "") + " GiB in RAM", "less", verdict.reason];
  if (verdict.refusal || !verdict.starts) return ["no", "none", verdict.refusal ?? verdict.reason];
  return [max_model_len === null ? "any" : short(max_model_len), verdict.status === "fits" ? "fits" : "less", verdict.reason];
}

function cell(source, type, each, count) {
  const words = ["kvplan", source, "--engine", type.engine, ...typed(type), "--gpu", each.gpu, ...(count > 1 ? ["--gpu-count", count] : []), "--max-model-len", tokens, "--offline"];
  const [text, tone, title] = judged(each);
  return `<a href="${escaped(link(words.join(" ")))}" class="of-${type.id} ${tone}" title="${escaped(title)}">${text}</a>`;
}

// The catalogue's chat models of the last 20 months, in the order that `pick` prints.
const { picks, catalogue_date: today } = data("pick", "--gpu", "h200", "--gpu-count", "8", "--max-model-len", String(tokens), "--all");
const dates = Object.fromEntries(data("models").models.map(({ id, date }) => [id, date]));
const oldest = new Date(Date.parse(today) - 600 * 86400e3).toISOString().slice(0, 10);
const shownModels = [...new Set(picks.map(({ id }) => id))].filter((id) => dates[id] >= oldest);
// One model at a time: with many models the program reaches its time limit.
const asked = (source, type, { cards, count }) => data(source, "--offline", "--engine", type.engine, ...typed(type), "--gpu", cards.join(","), "--gpu-count", String(count), "--max-model-len", String(tokens));
const rows = new Map();
for (const source of shownModels) rows.set(source, shownCards.map((set) => shownTypes.map((type) => asked(source, type, set).rows[0])));
const columns = shownCards.flatMap((set, at) =>
  asked(shownModels[0], shownTypes[0], set).cards.map((card, place) => ({
    title: (set.count > 1 ? set.count + " x " : "") + card.gpu,
    memory: (card.gpu_memory_bytes / 2 ** 30).toFixed(0) + " GiB",
    size: card.gpu_memory_bytes < small ? "small" : "large",
    cells: (source) => shownTypes.map((type, which) => {
      const row = rows.get(source)[at][which]; // an engine without the model has no cells
      return cell(source, type, row.cells?.[place] ?? { gpu: card.gpu, error: row.error }, set.count);
    }).join(""),
  })));
let table = `<thead><tr><th scope="col">model</th>${columns.map(({ title, memory }) => `<th scope="col">${escaped(title)}<br>${memory}</th>`).join("")}</tr></thead>\n<tbody>\n`;
for (const source of shownModels)
  table += `<tr><td>${escaped(source.replace(/^.*\//, ""))}</td>${columns.map(({ size, cells }) => `<td class="${size}">${cells(source)}</td>`).join("")}</tr>\n`;
table += "</tbody>";
const newest = ["vllm", "llama.cpp"].map((engine) => `${engine} ${engines.filter((row) => row.engine === engine).at(-1).release}`).join(", ");
const models = filled(beside("models.html"), { STYLE: style, STYLE_HASH: hashed(style), VERSION: version, SHARED: shared("models.html"), TABLE: table, NEWEST: newest });

const hash = createHash("sha256").update(page).update(models).digest("hex").slice(0, 16);
const written = { "index.html": page, "models.html": models, "sw.js": filled(beside("sw.js"), { HASH: hash }) };
let total = 0;
for (const [name, text] of Object.entries(written)) {
  writeFileSync(join(out, name), text);
  const size = gzipSync(text, { level: 9 }).length;
  total += size;
  console.log(`${name}: ${text.length} characters, ${size} by gzip`);
}
console.log(`kvplan.wasm: ${readFileSync(wasm).length} bytes, ${packed.length} by LZMA`);
const limit = 1100 * 1024;
console.log(`the page: ${total} bytes by gzip, the limit is ${limit}`);
if (total > limit) process.exit(1);
