// The page and the table beside it, around a finished module:
//
//   node assemble.mjs KVPLAN.js KVPLAN.wasm CONFIGS OUT
//
// What the page offers (engines, cards, types, options) and every figure of the table are asked of the module.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const [glue, wasm, configs, out] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const beside = (name) => readFileSync(join(here, name), "utf8");
// LZMA with the length in its header; Python has the packer.
const packer = `
import lzma, struct, sys
whole = sys.stdin.buffer.read()
packed = lzma.compress(whole, lzma.FORMAT_ALONE, filters=[{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0, "dict_size": 1 << 22}])
sys.stdout.buffer.write(packed[:5] + struct.pack("<Q", len(whole)) + packed[13:])`;
const packed = execFileSync("python3", ["-c", packer], { input: readFileSync(wasm), maxBuffer: 1 << 26 });
const workerScript = [readFileSync(glue, "utf8"), beside("unpack.js"), beside("worker.js")].join("\n");

const files = readdirSync(configs).filter((name) => name.endsWith(".json")).sort();
const examples = Object.fromEntries(files.map((name) => [name, readFileSync(join(configs, name), "utf8")]));

// The worker's own functions, here.
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

// Its shell completion says each option's names, what it takes a value of, and what it chooses from.
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

// Where the page will be served (KVPLAN_PAGE_ADDRESS, ends in /): links to it show a picture.
const address = process.env.KVPLAN_PAGE_ADDRESS;
if (address && !/^https:\/\/[\w.\/-]+\/$/.test(address)) throw new Error(`KVPLAN_PAGE_ADDRESS: ${address} is no https address that ends in /`);
const shared = (file) => !address ? "" : `<meta property="og:url" content="${address}${file}">\n<meta property="og:image" content="${address}preview.png">\n<meta name="twitter:card" content="summary_large_image">\n`;

// A text inside a script element ends at its end tag alone.
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

// A type of weights, and an engine that people run it in.
const shownTypes = [
  { id: "q4", title: "4-bit", engine: "llama.cpp", weights: "q4_k_m" },
  { id: "fp8", title: "8-bit", engine: "vllm", weights: "fp8" },
  { id: "own", title: "as published", engine: "vllm", weights: "" },
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

function cell(source, type, each, count) {
  const words = ["kvplan", source, "--engine", type.engine, ...typed(type), "--gpu", each.gpu, ...(count > 1 ? ["--gpu-count", count] : []), "--max-model-len", tokens, "--offline"];
  const said = (text, tone, title) => `<a href="${escaped(link(words.join(" ")))}"${tone ? ` class="${tone}"` : ""}${title ? ` title="${escaped(title)}"` : ""}>${text}</a>`;
  if (each.error) return said("not planned", "muted", each.error);
  const { verdict } = each;
  if (verdict.refusal) return said("does not start", "muted", verdict.refusal);
  if (!verdict.starts) return said(`${(-verdict.headroom_bytes / 2 ** 30).toFixed(1)} GiB short`, "muted", verdict.reason);
  return said(each.max_model_len === null ? "any" : short(each.max_model_len), verdict.status === "fits" ? "good" : "warn");
}

// The catalogue's chat models of the last 20 months, in the order of pick.
const { picks, catalogue_date: today } = data("pick", "--gpu", "h200", "--gpu-count", "8", "--max-model-len", String(tokens), "--all");
const dates = Object.fromEntries(data("models").models.map(({ id, date }) => [id, date]));
const oldest = new Date(Date.parse(today) - 600 * 86400e3).toISOString().slice(0, 10);
const shownModels = [...new Set(picks.map(({ id }) => id))].filter((id) => dates[id] >= oldest);
let tables = "";
let index = "";
for (const { cards, count } of shownCards) {
  const answers = shownTypes.map((type) => data(...shownModels, "--offline", "--engine", type.engine, ...typed(type), "--gpu", cards.join(","), "--gpu-count", String(count), "--max-model-len", String(tokens)));
  answers[0].cards.forEach((card, place) => {
    const title = (count > 1 ? count + " x " : "") + card.gpu;
    const id = title.replaceAll(" ", "");
    index += `<a href="#${id}">${escaped(title)}</a> `;
    const size = card.gpu_memory_bytes < small ? "small" : "large";
    tables += `<section id="${id}" class="${size}"><h2>${escaped(title)}, ${(card.gpu_memory_bytes / 2 ** 30).toFixed(1)} GiB${count > 1 ? " each" : ""}</h2>\n<div class="scroll"><table>\n<thead><tr><th scope="col">model</th>`;
    tables += shownTypes.map(({ id: type, title: text, engine }) => `<th scope="col" class="n of-${type}">${text}, ${engine}</th>`).join("") + "</tr></thead>\n<tbody>\n";
    for (const source of shownModels) {
      const cells = shownTypes.map((type, at) => {
        const row = answers[at].rows.find((one) => one.source === source);
        const text = row?.cells ? cell(source, type, row.cells[place], count) : "";
        return `<td data-name="${type.title}" class="n of-${type.id}${text ? "" : " empty"}"><span>${text}</span></td>`;
      });
      tables += `<tr><td data-name="model"><span>${escaped(source.replace(/^.*\//, ""))}</span></td>${cells.join("")}</tr>\n`;
    }
    tables += "</tbody>\n</table></div></section>\n";
  });
}
const newest = ["vllm", "llama.cpp"].map((engine) => `${engine} ${engines.filter((row) => row.engine === engine).at(-1).release}`).join(", ");
const models = filled(beside("models.html"), { STYLE: style, STYLE_HASH: hashed(style), VERSION: version, SHARED: shared("models.html"), INDEX: index, TABLES: tables, NEWEST: newest });

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
const limit = 800 * 1024;
console.log(`the page: ${total} bytes by gzip, the limit is ${limit}`);
if (total > limit) process.exit(1);
