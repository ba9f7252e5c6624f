/**
 * Records a real program for the tests of its adapter, in the folder it is called in: what is typed goes to the program, and when it ends, or
 * at Ctrl-C, its fixture is written, but for what a person writes: how the run ended.
 *
 * It needs of the adapter its line in the registry, `command` and the protocol's `open`. The folder's path is written as `/workspace`; look
 * through the files for any other private data.
 */
import type { RecordingFacts } from "@corral/conformance/Recordings"
import { RunMode } from "@corral/domain/run/Run"
import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { fixtures, registry } from "@corral/testing/recordings/Fixtures"

const [id = "", scenario = "", prompt, mode = "ask"] = process.argv.slice(2)
const adapter = registry.get(id)
if (adapter === undefined || prompt === undefined) {
  console.error("node packages/adapters/test/record.ts <adapter> <scenario> <prompt> [mode]")
  process.exit(2)
}

const workspacePath = process.cwd()
const start = { prompt, mode: Schema.decodeUnknownSync(RunMode)(mode), workspacePath }
const { args, env, file, stdin } = adapter.command(start)
const child = spawn(file, args, { env: { ...process.env, ...env, PWD: workspacePath }, detached: true })

const hidden = (bytes: Buffer): string => bytes.toString("latin1").replaceAll(workspacePath, "/workspace")
const stdout: Array<Buffer> = []
const stderr: Array<Buffer> = []
child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk)).pipe(process.stdout)
child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk)).pipe(process.stderr)
child.stdin.on("error", () => undefined).write(adapter.protocol(start).open)
if (stdin === "pipe") process.stdin.pipe(child.stdin)
else child.stdin.end()
process.on("SIGINT", () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL"))

child.on("close", (code, signal) => {
  const folder = `${fixtures}${id}/${scenario}`
  mkdirSync(folder, { recursive: true })
  const write = (name: string, text: string) => writeFileSync(`${folder}/${name}`, text, "latin1")
  const facts: Partial<RecordingFacts> = {
    start: { ...start, workspacePath: "/workspace" },
    chunks: stdout.map(({ length }) => length),
    ...(code === 0 ? {} : { exit: { code, signal } }),
    ...(stderr.length === 0 ? {} : { stderr: hidden(Buffer.concat(stderr)) })
  }
  write("recording.json", `${JSON.stringify(facts, null, 2)}\n`)
  write("stdout.jsonl", hidden(Buffer.concat(stdout)))
  console.error(`\nwrote ${folder}: if it did not complete, add how it ended to recording.json, as expected`)
  process.exit()
})
