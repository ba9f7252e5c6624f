/**
 * Recordings in a folder, one folder each: `stdout.jsonl` or `stdout.txt`, the output; `recording.json`, what is known about it besides; `events.json`,
 * the expected outputs. The last two are optional.
 */
import type { RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { startIn } from "./Declaration.ts"
import { replay, type Recording } from "./Replay.ts"

const pathOf = (folder: string | URL): string => (typeof folder === "string" ? folder : fileURLToPath(folder))

/** Facts of one recording. */
export interface RecordingFacts {
  readonly start: Partial<RunStart>
  /** Further messages of the user, all sent at the start. */
  readonly inputs: ReadonlyArray<string>
  /** Sizes of the reads, in order. */
  readonly chunks: ReadonlyArray<number>
  readonly exit: { readonly code: number | null; readonly signal: string | null }
  readonly stderr: string
  /** How the run ended. Written by a person. */
  readonly expected: NonNullable<Recording["expected"]>
  /** Lines that the program read while it was recorded. */
  readonly stdin: ReadonlyArray<string>
}

/** What is usual, and left out of `recording.json`. */
export const recordingDefaults: RecordingFacts = {
  start: {},
  inputs: [],
  chunks: [],
  exit: { code: 0, signal: null },
  stderr: "",
  expected: { outcome: "Completed" },
  stdin: []
}

/** Files that each had one fact, until version 0.2. */
const EARLIER = ["start.json", "inputs.json", "chunks.json", "exit.json", "stderr.txt", "expected.json"]

const outputFile = (folder: string): string | undefined =>
  ["stdout.jsonl", "stdout.txt"].map((name) => join(folder, name)).find((file) => existsSync(file))

/** Facts of the recording in that folder. Throws if one is in a file of an earlier version, which would be ignored. */
export const recordingFacts = (folder: string): RecordingFacts => {
  const earlier = EARLIER.find((name) => existsSync(join(folder, name)))
  if (earlier !== undefined)
    throw new Error(
      `${join(folder, earlier)} is not read. Write it into recording.json, as "${earlier.replace(/\..*/, "")}".`
    )
  const file = join(folder, "recording.json")
  return existsSync(file)
    ? { ...recordingDefaults, ...JSON.parse(readFileSync(file, "utf8")) }
    : recordingDefaults
}

/** One recording. */
export const loadRecording = (folder: string, name: string): Recording => {
  const at = join(folder, name)
  const { chunks, exit, expected, inputs, start, stderr } = recordingFacts(at)
  const outputs = join(at, "events.json")
  return {
    name,
    start: { ...startIn("ask"), ...start },
    inputs,
    stdout: readFileSync(outputFile(at) ?? join(at, "stdout.jsonl")),
    chunkSizes: chunks,
    exit: { ...exit, stderr },
    expected,
    outputs: existsSync(outputs) ? JSON.parse(readFileSync(outputs, "utf8")) : undefined
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
