// Loads small models of many architectures with a real llama.cpp and compares the KV and state buffers that it logs
// with kvplan's. See README.md. Usage: node live.mjs KVPLAN [ARCHITECTURE...]; LIVE_SAVE=FILE keeps the printed figures.
//
// A model is metadata alone: the tensors are learned from the loader, which names the tensor it misses and the
// shape it expects. Their data are zeros.
import {execFileSync, spawnSync} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {getLlama, LlamaLogLevel} from "node-llama-cpp";
import {models, tensors as extra, contexts} from "./models.mjs";

const [kvplan, name] = process.argv.slice(2);
const save = process.env.LIVE_SAVE;

// What each architecture's process left, as a file of observations (testdata/observations/README.md).
function gather() {
    const kept = Object.keys(models).map((each) => `${save}.${each}`).filter((file) => fs.existsSync(file));
    const parts = kept.map((file) => JSON.parse(fs.readFileSync(file, "utf8")));
    kept.forEach((file) => fs.rmSync(file));
    const rows = (list) => list.map((row) => "    " + JSON.stringify(row)).join(",\n");
    const named = parts.map(({model, gguf}) => `    ${JSON.stringify(model)}: ${JSON.stringify({gguf})}`).join(",\n");
    fs.writeFileSync(save, `{\n  "source": "bench/llama-live/run.sh --save",\n  "engine": "llama.cpp v0.5.0",\n` +
        `  "models": {\n${named}\n  },\n  "observations": [\n${rows(parts.flatMap((part) => part.observations))}\n  ]\n}\n`);
}

if (name == null) {
    // Each in a process of its own: llama.cpp ends the process where an assertion fails.
    const failed = Object.keys(models).filter((each) => {
        const child = spawnSync(process.execPath, [process.argv[1], kvplan, each], {encoding: "utf8"});
        process.stdout.write(child.stdout);
        if (child.status !== 0 && child.status !== 1)
            console.log(`FAIL ${each}: llama.cpp ended the process (${child.signal ?? child.status})\n${child.stderr.slice(-600)}`);
        return child.status !== 0;
    });
    if (save != null) gather();
    const all = Object.keys(models).length;
    console.log(`${all - failed.length} of ${all} architectures agree in ${contexts.length} contexts each`);
    process.exit(failed.length === 0 ? 0 : 1);
}
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "llama-live-"));

// GGUF version 3, little endian.
function ggufBytes(metadata, tensors) {
    const parts = [];
    const u32 = (n) => { const b = Buffer.alloc(4); b.writeUInt32LE(n); parts.push(b); };
    const u64 = (n) => { const b = Buffer.alloc(8); b.writeBigUInt64LE(BigInt(n)); parts.push(b); };
    const text = (s) => { u64(Buffer.byteLength(s)); parts.push(Buffer.from(s)); };
    const one = (v) => {
        if (typeof v === "boolean") parts.push(Buffer.from([v ? 1 : 0]));
        else if (typeof v === "string") text(v);
        else if (Number.isInteger(v)) u32(v);
        else { const b = Buffer.alloc(4); b.writeFloatLE(v.float); parts.push(b); }
    };
    const type = (v) => typeof v === "boolean" ? 7 : typeof v === "string" ? 8 : Number.isInteger(v) ? 4 : 6;
    parts.push(Buffer.from("GGUF"));
    u32(3);
    u64(tensors.size);
    u64(Object.keys(metadata).length);
    for (const [key, value] of Object.entries(metadata)) {
        text(key);
        if (Array.isArray(value)) {
            u32(9);
            u32(type(value[0]));
            u64(value.length);
            value.forEach(one);
        } else {
            u32(type(value));
            one(value);
        }
    }
    let offset = 0;
    for (const [name, dims] of tensors) {
        text(name);
        u32(dims.length);
        dims.forEach(u64);
        u32(0);  // float32
        u64(offset);
        offset += Math.ceil(dims.reduce((a, b) => a * b, 4) / 32) * 32;
    }
    const header = Buffer.concat(parts);
    return {header, size: Math.ceil(header.length / 32) * 32 + offset};
}

function writeModel(file, metadata, tensors) {
    const {header, size} = ggufBytes(metadata, tensors);
    fs.writeFileSync(file, header);
    fs.truncateSync(file, size);  // the data are a hole
}

const ggmlTypes = {f32: 0, f16: 1, q4_0: 2, q8_0: 8};

let log = [];
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, logLevel: LlamaLogLevel.debug,
    logger: (_, message) => log.push(...message.split("\n"))});
const bindings = llama._bindings;

// The log comes line by line behind the call.
async function settled(last) {
    for (let round = 0; round < (last == null ? 2 : 200); ++round) {
        await new Promise((resolve) => setTimeout(resolve, last == null ? 10 : 1));
        if (last != null && log.some((line) => last.test(line))) return;
    }
}

async function load(file) {
    log = [];
    const model = new bindings.AddonModel(file, {gpuLayers: 0, useMmap: true, addonExports: bindings});
    const ok = await model.init().catch(() => false);
    await settled(ok ? null : /failed to load model/);
    return ok ? model : null;
}

// Learns the tensors: each failed load names one.
async function learn(file, metadata, names) {
    const tensors = new Map(["token_embd.weight", ...names].map((each) => [each, [1]]));
    for (let round = 0; round < 4000; ++round) {
        writeModel(file, metadata, tensors);
        const model = await load(file);
        if (model != null) return model;
        const said = log.join("\n");
        const missing = /tensor '([^']+)' not found|missing tensor '([^']+)'/.exec(said);
        const shape = /tensor '([^']+)' has wrong shape; expected ([0-9, ]+), got/.exec(said);
        if (missing != null) tensors.set(missing[1] ?? missing[2], [1]);
        else if (shape != null) tensors.set(shape[1], shape[2].split(",").map(Number));
        else throw new Error(log.filter((line) => /error|fail|invalid|key not found/i.test(line)).join(" | ") || said.slice(-400));
    }
    throw new Error("the tensors did not come to an end");
}

// MiB with two digits, as printed.
const mib = (bytes) => (bytes / 1048576).toFixed(2);

function logged(lines) {
    let kv = 0, states = 0, kvLines = 0, stateLines = 0;
    for (const line of lines) {
        const compressor = /comp_state: .* layers = \d+, size =\s*([0-9.]+) MiB/.exec(line);
        const size = compressor ?? /size\s*=\s*([0-9.]+) MiB \(\s*\d+ cells/.exec(line);
        if (size == null) continue;
        if (compressor == null && /K \(/.test(line)) {
            kv += Number(size[1]);
            ++kvLines;
        } else {
            states += Number(size[1]);
            ++stateLines;
        }
    }
    return {kv, states, kvLines, stateLines, lines: lines.filter((line) => /cells|layers = .* size/.test(line) && /MiB/.test(line))};
}

const file = path.join(folder, name + ".gguf");
process.on("exit", () => fs.rmSync(folder, {recursive: true, force: true}));
let model;
try {
    model = await learn(file, models[name], extra[name] ?? []);
} catch (error) {
    console.log(`FAIL ${name}: not loaded: ${error.message}`);
    process.exit(1);
}

let failures = 0;
const observations = [];
for (const context of contexts) {
    log = [];
    const made = new bindings.AddonContext(model, {contextSize: context.n_ctx, batchSize: context.n_batch,
        sequences: context.n_seq, flashAttention: context.flash_attention, swaFullCache: context.swa_full, threads: 1,
        kvCacheKeyType: ggmlTypes[context.type], kvCacheValueType: ggmlTypes[context.type]});
    const ok = await made.init().catch(() => false);
    await settled(null);
    if (process.env.LIVE_DEBUG) console.log(log.join("\n"));
    const real = logged(log);
    if (ok) await made.dispose();
    const args = [file, "--engine", "llama.cpp", "-c", context.n_ctx, "-np", context.n_seq, "-b", context.n_batch,
        "-ub", context.n_batch, "-ctk", context.type, "-ctv", context.type, "-fa", context.flash_attention ? "on" : "off",
        ...(context.swa_full ? ["--swa-full"] : []), "--json"].map(String);
    let kv = NaN, states = NaN, refused = "";
    try {
        const plan = JSON.parse(execFileSync(kvplan, args, {stdio: ["ignore", "pipe", "pipe"]}));
        const sum = (is) => plan.memory[0].lines.filter((l) => l.part === "kv_cache" && is(l)).reduce((a, l) => a + l.bytes, 0);
        // Of CUDA alone, and this is a CPU.
        const padding = plan.kv_cache.gap.filter((g) => /CUDA/.test(g.reason)).reduce((a, g) => a + g.bytes, 0);
        states = sum((l) => /state/.test(l.what));
        kv = sum((l) => !/state/.test(l.what)) - padding;
    } catch (error) {
        refused = String(error.stderr ?? error).trim();
    }
    // Each printed line is rounded to a hundredth.
    const near = (bytes, printed) => Math.abs(bytes / 1048576 - printed) < 0.00501 * Math.max(1, real.lines.length);
    const same = ok ? near(kv, real.kv) && near(states, real.states) : refused !== "";
    if (!same) ++failures;
    if (ok) {
        const figure = (printed, lines) => printed === 0 ? {} : {printed: printed.toFixed(2) + " MiB", ...(lines > 1 ? {lines} : {})};
        const figures = {cache: figure(real.kv, real.kvLines), states: figure(real.states, real.stateLines)};
        for (const [key, value] of Object.entries(figures)) if (value.printed == null) delete figures[key];
        observations.push({name: `${name}, ${context.n_ctx} tokens in ${context.n_seq}, ${context.type}`, model: name,
            args: args.slice(1, -1), figures});
    }
    const label = Object.entries(context).map(([k, v]) => `${k}=${v}`).join(" ");
    console.log(`${same ? "ok  " : "FAIL"} ${name.padEnd(13)} ${label}: ` + (ok
        ? `KV ${real.kv.toFixed(2)} / ${mib(kv)}, states ${real.states.toFixed(2)} / ${mib(states)} MiB`
        : `refused by llama.cpp; kvplan: ${refused || "planned it"}`));
    if (!same) console.log(real.lines.join("\n"));
}
await model.dispose();
if (save != null) {
    // The integers, words and lists that say how large a cache is.
    const gguf = Object.fromEntries(Object.entries(models[name]).filter(([key, value]) => value.float == null && !key.startsWith("tokenizer")));
    fs.writeFileSync(`${save}.${name}`, JSON.stringify({model: name, gguf, observations}));
}
process.exit(failures === 0 ? 0 : 1);
