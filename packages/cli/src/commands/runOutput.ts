/**
 * `corral raw`: what the program of a run printed, for a report about its adapter; it works only with the local Edge, because raw output never leaves the
 * device. `corral normalize`: converts a recorded output to events, and needs no Edge.
 */
import { scriptedProgram } from "@corral/adapters/scriptedProgram"
import { WorkspaceId } from "@corral/domain/identity/Ids"
import { RawRecord } from "@corral/domain/run/RawOutput"
import { RunInput, RunMode } from "@corral/domain/run/Run"
import { NodeStream } from "@effect/platform-node"
import { Effect, Option, Schema, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createReadStream, fstatSync, openSync } from "node:fs"
import { refused } from "../CommandFailed.ts"
import { edgeFlags, jsonLines, toggle } from "../Flags.ts"
import { connectToChosenEdge } from "../edge/EdgeClient.ts"
import { edgeRunServer } from "../run/EdgeRunServer.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import { explainMissingRun } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const decodeRecord = Schema.decodeUnknownEffect(Schema.fromJsonString(RawRecord))

/** A record as a person reads it: the time of day, where the line comes from, and the line. */
const lineOf = (record: RawRecord): string => {
  if ("leftOut" in record) return `(${record.leftOut} bytes before this were deleted)`
  const time = record.at.slice(11, 23)
  if ("exit" in record) return `${time} exit    ${record.exit.signal ?? record.exit.code ?? "unknown"}`
  const cut = "bytes" in record ? ` (${record.bytes} bytes)` : ""
  return `${time} ${record.stream}  ${escapeLine(record.text.trimEnd())}${cut}`
}

/** `corral raw`. */
export const rawCommand = Command.make(
  "raw",
  {
    ...edgeFlags,
    json: jsonLines,
    stdout: toggle("stdout", "Print only stdout, without times: a recording for the tests of an adapter"),
    run: runArgument
  },
  Effect.fn(function* ({ json, run: start, stdout, ...choice }) {
    const host = yield* Host
    const id = yield* resolveRunId(yield* edgeRunServer(choice))(start)
    const calls = yield* connectToChosenEdge(choice)
    yield* explainMissingRun(id)(calls.runs.get({ params: { id } }))
    const bytes = yield* calls.runs.raw({ params: { id } })
    yield* bytes.pipe(
      Stream.decodeText(),
      Stream.splitLines,
      Stream.mapEffect((line) => decodeRecord(line)),
      Stream.runForEach((record) =>
        Effect.sync(() => {
          if (json) host.write(`${JSON.stringify(record)}\n`)
          else if (!stdout) host.write(`${lineOf(record)}\n`)
          else if ("stream" in record && record.stream === "stdout")
            host.write(`${host.terminal ? escapeLine(record.text) : record.text}\n`)
          else if ("leftOut" in record) host.warn(`${lineOf(record)}\n`)
        })
      ),
      Effect.mapError(() => refused("The raw output can't be read. Try again."))
    )
  })
).pipe(
  Command.withDescription("Print what the program of a run printed, if the Edge of this machine kept it")
)

const unreadable = (name: string, error: unknown) =>
  refused(`Can't read ${name}: ${error instanceof Error ? error.message : String(error)}`)

/** Bytes of the file. Opens it immediately, so that a missing file fails before any output. */
const recordingAt = (path: string) =>
  Effect.try({
    try: () => {
      const fd = openSync(path, "r")
      if (fstatSync(fd).isDirectory()) throw new Error("it is a folder.")
      return NodeStream.fromReadable<Uint8Array, Error>({
        evaluate: () => createReadStream(path, { fd }),
        onError: (error) => (error instanceof Error ? error : new Error(String(error)))
      })
    },
    catch: (error) => unreadable(path, error)
  })

export const normalizeCommand = Command.make(
  "normalize",
  {
    agent: Flag.String("agent").pipe(
      Flag.withAlias("a"),
      Flag.withDescription("Agent of the output: scripted, claude-code, …")
    ),
    mode: Flag.Literals("mode", RunMode.literals).pipe(
      Flag.withDescription("Mode of the recorded run"),
      Flag.withDefault("ask" as const)
    ),
    prompt: Flag.String("prompt").pipe(
      Flag.withDescription("Prompt of the recorded run"),
      Flag.withSchema(RunInput.fields.text),
      Flag.withDefault("(recorded)")
    ),
    workspace: Flag.String("workspace").pipe(
      Flag.withDescription("Id of the workspace of the recorded run"),
      Flag.withSchema(WorkspaceId),
      Flag.withDefault("recorded" as WorkspaceId)
    ),
    folder: Flag.String("folder").pipe(
      Flag.withDescription("Folder of the recorded run. Paths below it are shown relative to it"),
      Flag.withDefault("/workspace")
    ),
    json: toggle("json", "Accepted like in other commands. Output is always JSON lines"),
    file: Argument.String("file").pipe(
      Argument.withDescription("Recorded output. Default: stdin"),
      Argument.optional
    ),
    exitCode: Flag.Int("exit-code").pipe(
      Flag.withDescription("Exit code of the recorded program"),
      Flag.withSchema(Schema.Int),
      Flag.withDefault(0)
    )
  },
  Effect.fn(function* ({ agent, mode, prompt, workspace, folder, exitCode, file }) {
    const host = yield* Host
    // Loaded on demand: other commands start faster without the adapters.
    const { builtIn } = yield* Effect.promise(() => import("@corral/adapters/Registry"))
    const { normalizeRecording } = yield* Effect.promise(() => import("../run/NormalizedOutput.ts"))
    const adapters = builtIn({ node: process.execPath, scriptedProgram })
    const adapter = adapters.get(agent)
    if (adapter === undefined) {
      return yield* refused(`Unknown agent ${agent}. Available agents: ${[...adapters.keys()].join(", ")}.`)
    }
    const { stdin } = yield* Stdio.Stdio
    const recording = Option.isNone(file) ? stdin : yield* recordingAt(file.value)
    yield* recording.pipe(
      normalizeRecording({
        adapter,
        start: { prompt, mode, workspacePath: folder },
        workspace,
        exit: { code: exitCode, signal: null, stderr: "" }
      }),
      Stream.runForEach((line) => Effect.sync(() => host.write(`${line}\n`))),
      Effect.mapError((error) =>
        unreadable(
          Option.getOrElse(file, () => "stdin"),
          error
        )
      )
    )
  })
).pipe(
  Command.withDescription("Print the events of a recorded output, from a file or stdin, as JSON lines"),
  Command.withExamples([
    {
      command: "corral normalize --agent claude-code stdout.jsonl",
      description: "A recording of Claude Code"
    }
  ])
)
