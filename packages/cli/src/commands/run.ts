/** `corral run`: starts a run, follows it, and ends as it ends. */
import { AgentId, type RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { RunMode } from "@corral/domain/run/Run"
import { Effect, Option, Queue, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { exitCodes, exitWith, refused } from "../CommandFailed.ts"
import { runServerFlags, toggle } from "../Flags.ts"
import { followRun } from "../run/Follow.ts"
import { Host, receiveSignal } from "../terminal/Host.ts"
import type { RunServer } from "../run/RunServer.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"

const flags = {
  ...runServerFlags,
  agent: Flag.String("agent").pipe(
    Flag.withAlias("a"),
    Flag.withDescription("The agent: scripted, claude-code, … (`corral doctor` lists them)"),
    Flag.withSchema(AgentId)
  ),
  workspace: Flag.String("workspace").pipe(
    Flag.withAlias("w"),
    Flag.withDescription("Id of the workspace to work in"),
    Flag.withSchema(WorkspaceId)
  ),
  mode: Flag.Literals("mode", RunMode.literals).pipe(
    Flag.withDescription("What it may do without asking"),
    Flag.withDefault("ask" as const)
  ),
  model: Flag.String("model").pipe(Flag.withDescription("A model of the agent's"), Flag.optional),
  timeout: Flag.Int("timeout").pipe(
    Flag.withDescription("Active time in seconds; waiting for a person does not count"),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))),
    Flag.optional
  ),
  target: Flag.String("target").pipe(
    Flag.withDescription(
      "At a Hub: the device to run on, by id or name; else the only one with that workspace"
    ),
    Flag.optional
  ),
  queue: toggle("queue", "At a Hub: wait for a device that is offline"),
  json: toggle("json", "Print the events as JSON lines"),
  yes: toggle("yes", "Allow everything that it asks for").pipe(Flag.withAlias("y")),
  noInput: toggle("no-input", "Never ask here: wait until somebody decides elsewhere"),
  prompt: Argument.String("prompt").pipe(
    Argument.withDescription("What the agent shall do"),
    Argument.variadic({ min: 1 })
  )
}

const SAME_PRESS = "300 millis"

/** Ctrl-C cancels the run, whose end is then waited for; a second one leaves at once. */
const cancelOnCtrlC = Effect.fnUntraced(function* (server: RunServer, id: RunId) {
  const host = yield* Host
  const presses = yield* Queue.unbounded<void>()
  yield* receiveSignal("SIGINT", () => Queue.offerUnsafe(presses, undefined))
  yield* Queue.take(presses)
  host.warn("\nCancelling the run; Ctrl-C again leaves it.\n")
  // The event stream tells how it went. A run that has just ended by itself cannot be cancelled, and need not.
  yield* Effect.forkChild(Effect.ignore(server.cancel(id)))
  // One Ctrl-C arrives twice where npm passes it on besides the terminal.
  yield* Effect.sleep(SAME_PRESS)
  yield* Queue.clear(presses)
  yield* Queue.take(presses)
  host.warn(`\nLeft it: \`${host.invocation} attach ${id}${server.named}\` shows how it ends.\n`)
  return yield* exitWith(exitCodes.cancelled)
}, Effect.scoped)

export const runCommand = Command.make(
  "run",
  flags,
  Effect.fn(function* ({
    agent,
    workspace,
    mode,
    model,
    timeout,
    json,
    yes,
    noInput,
    prompt,
    target,
    queue,
    ...choice
  }) {
    if (yes && noInput)
      return yield* refused("--yes allows everything and --no-input waits for somebody: choose one.")
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const runId = yield* server.start({
      agentId: agent,
      workspace,
      mode,
      input: { text: prompt.join(" ") },
      queue,
      ...Option.match(model, { onNone: () => ({}), onSome: (model) => ({ model }) }),
      ...Option.match(target, { onNone: () => ({}), onSome: (target) => ({ target }) }),
      ...Option.match(timeout, { onNone: () => ({}), onSome: (seconds) => ({ timeoutMs: seconds * 1_000 }) })
    })
    const approving = yes ? "allow" : noInput || json || !host.interactive ? "wait" : "ask"
    yield* Effect.raceFirst(
      followRun({ place: server, runId, after: 0, json, approving }),
      cancelOnCtrlC(server, runId)
    )
  })
).pipe(
  Command.withDescription("Start a run and follow it to its end"),
  Command.withExamples([
    {
      command: 'corral run --agent scripted --workspace sample "Read the notes and write a summary"',
      description: "A first run, without any model"
    }
  ])
)
