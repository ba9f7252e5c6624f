/**
 * Recordings in a folder, one folder each: `stdout.jsonl` or `stdout.txt`, and optionally `start.json`, `inputs.json`, `chunks.json`,
 * `exit.json`, `stderr.txt`, `expected.json` and `events.json` with the expected outputs. A file that says what is usual is left out.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { startIn } from "./Declaration.ts"
import { replay, type Recording } from "./Replay.ts"

const pathOf = (folder: string | URL): string => (typeof folder === "string" ? folder : fileURLToPath(folder))

/** Of a recording without the file. */
export const recordingDefaults: {
  readonly "inputs.json": ReadonlyArray<string>
  readonly "chunks.json": ReadonlyArray<number>
  readonly "exit.json": { readonly code: number | null; readonly signal: string | null }
  readonly "expected.json": NonNullable<Recording["expected"]>
} = {
  "inputs.json": [],
  "chunks.json": [],
  "exit.json": { code: 0, signal: null },
  "expected.json": { outcome: "Completed" }
}

const json = <A>(file: string, fallback: A): A =>
  existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : fallback

const outputFile = (folder: string): string | undefined =>
  ["stdout.jsonl", "stdout.txt"].map((name) => join(folder, name)).find((file) => existsSync(file))

/** One recording. */
export const loadRecording = (folder: string, name: string): Recording => {
  const at = join(folder, name)
  const stdout = readFileSync(outputFile(at) ?? join(at, "stdout.jsonl"))
  const part = <Name extends keyof typeof recordingDefaults>(file: Name): (typeof recordingDefaults)[Name] =>
    json(join(at, file), recordingDefaults[file])
  const stderr = join(at, "stderr.txt")
  return {
    name,
    start: { ...startIn("ask"), ...json(join(at, "start.json"), {}) },
    inputs: part("inputs.json"),
    stdout,
    chunkSizes: part("chunks.json"),
    exit: { ...part("exit.json"), stderr: existsSync(stderr) ? readFileSync(stderr, "utf8") : "" },
    expected: part("expected.json"),
    outputs: json<ReadonlyArray<unknown> | undefined>(join(at, "events.json"), undefined)
  }
}

/** All recordings of a folder, by name. */
export const loadRecordings = (folder: string | URL): ReadonlyArray<Recording> => {
  const path = pathOf(folder)
  return readdirSync(path)
    .toSorted()
    .filter((name) => outputFile(join(path, name)) !== undefined)
    .map((name) => loadRecording(path, name))
}

/** Writes `events.json` of each recording: the adapter's outputs, for a person to read. Returns the names of those that changed. */
export const writeExpectedOutputs = (adapter: RuntimeAdapter, folder: string | URL): ReadonlyArray<string> =>
  loadRecordings(folder).flatMap((recording) => {
    const file = join(pathOf(folder), recording.name, "events.json")
    const outputs = replay(adapter, recording, [recording.stdout])
    const text = `[\n${outputs.map((output) => `  ${JSON.stringify(output)}`).join(",\n")}\n]\n`
    if (existsSync(file) && readFileSync(file, "utf8") === text) return []
    writeFileSync(file, text)
    return [recording.name]
  })

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Output of no program: for an adapter without recordings. */
export const inventedRecordings: ReadonlyArray<Recording> = (
  [
    ["nothing", ""],
    ["text", "Hello\nworld\n"],
    ["unknown lines", '{"type":"a"}\n{"type":"b","text":"wörld 👩‍🚀"}\n']
  ] as const
).map(([name, stdout]) => ({
  name,
  start: startIn("ask"),
  stdout: bytes(stdout),
  chunkSizes: [],
  exit: { code: 0, signal: null, stderr: "" },
  isText: true
}))
