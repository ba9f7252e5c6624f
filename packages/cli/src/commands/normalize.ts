/** `corral normalize`: what a recorded output of an agent means, as events. Needs no Edge. */
import { builtIn } from "@corral/adapters/Registry"
import { WorkspaceId } from "@corral/domain/identity/Ids"
import { RunInput, RunMode } from "@corral/domain/run/Run"
import { scriptedProgram } from "@corral/edge/scriptedProgram"
import { NodeStream } from "@effect/platform-node"
import { Effect, Option, Schema, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createReadStream, fstatSync, openSync } from "node:fs"
import { refused } from "../CommandFailed.ts"
import { toggle } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { normalizeRecording } from "../run/NormalizedOutput.ts"

const unreadable = (name: string, error: unknown) =>
  refused(`${name} cannot be read: ${error instanceof Error ? error.message : String(error)}`)

/** The file's bytes. It is opened at once: nothing is told of one that is not there. */
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
      Flag.withDescription("Whose output it is: scripted, claude-code, …")
    ),
    mode: Flag.Literals("mode", RunMode.literals).pipe(
      Flag.withDescription("The mode of the recorded run"),
      Flag.withDefault("ask" as const)
    ),
    prompt: Flag.String("prompt").pipe(
      Flag.withDescription("The prompt of the recorded run"),
      Flag.withSchema(RunInput.fields.text),
      Flag.withDefault("(recorded)")
    ),
    workspace: Flag.String("workspace").pipe(
      Flag.withDescription("Id of the workspace of the recorded run"),
      Flag.withSchema(WorkspaceId),
      Flag.withDefault("recorded" as WorkspaceId)
    ),
    folder: Flag.String("folder").pipe(
      Flag.withDescription("Folder that the recorded run worked in; paths below it are told relative to it"),
      Flag.withDefault("/workspace")
    ),
    json: toggle("json", "As every command has it; it prints JSON lines in any case"),
    file: Argument.String("file").pipe(
      Argument.withDescription("The recorded output; else stdin"),
      Argument.optional
    ),
    exitCode: Flag.Int("exit-code").pipe(
      Flag.withDescription("How the recorded program ended"),
      Flag.withSchema(Schema.Int),
      Flag.withDefault(0)
    )
  },
  Effect.fn(function* ({ agent, mode, prompt, workspace, folder, exitCode, file }) {
    const host = yield* Host
    const adapters = builtIn({ node: process.execPath, scriptedProgram })
    const adapter = adapters.get(agent)
    if (adapter === undefined) {
      return yield* refused(`There is no agent ${agent}. There are: ${[...adapters.keys()].join(", ")}.`)
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
