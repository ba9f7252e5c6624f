/** `corral run`: starts a run, follows it, and ends as it ends. */
import { AgentId, WorkspaceId } from "@corral/domain/Ids"
import { RunMode, type CreateRun, type Run } from "@corral/domain/Run"
import { Effect, Option, Queue, Schedule } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { randomUUID } from "node:crypto"
import { CommandFailed, exitCodes, exitWith } from "../CommandFailed.ts"
import { asked, connect, type EdgeCalls } from "../EdgeClient.ts"
import { edgeFlags, toggle } from "../Flags.ts"
import { follow } from "../Follow.ts"
import { Host, receiveSignal } from "../Host.ts"

const flags = {
  ...edgeFlags,
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
    Flag.optional
  ),
  json: toggle("json", "Print the events as JSON lines"),
  yes: toggle("yes", "Allow everything that it asks for").pipe(Flag.withAlias("y")),
  noInput: toggle("no-input", "Never ask here: wait until somebody decides elsewhere"),
  prompt: Argument.String("prompt").pipe(
    Argument.withDescription("What the agent shall do"),
    Argument.variadic({ min: 1 })
  )
}

/** Safe to be repeated: the key makes it one run however often it is sent. */
const create = Effect.fnUntraced(function* (calls: EdgeCalls, payload: CreateRun) {
  const headers = { "idempotency-key": randomUUID() }
  const answer = yield* asked(calls.runs.create({ headers, payload })).pipe(
    Effect.retry({
      times: 3,
      while: ({ unreachable, code }) => unreachable === true || code === "idempotency_in_flight",
      schedule: Schedule.spaced("200 millis")
    }),
    Effect.catch((refusal) => Effect.flatMap(choices(calls, refusal), Effect.fail))
  )
  return answer.body
})

/** A refusal of an unknown agent or workspace, with those that there are. */
const choices = (calls: EdgeCalls, refusal: CommandFailed): Effect.Effect<CommandFailed> => {
  const { exitCode, code, requestId, message } = refusal
  const withList = (what: string, ids: ReadonlyArray<string>) =>
    new CommandFailed({
      message: `${message} ${what}: ${ids.join(", ") || "none"}.`,
      exitCode,
      code,
      requestId
    })
  switch (code) {
    case "invalid_agent_id":
      return asked(calls.agents.list()).pipe(
        Effect.map(({ items }) =>
          withList(
            "There are",
            items.map(({ id }) => id)
          )
        ),
        Effect.orElseSucceed(() => refusal)
      )
    case "workspace_outside_allowlist":
      return asked(calls.workspaces.list()).pipe(
        Effect.map(({ items }) =>
          withList(
            "Allowed are",
            items.map(({ id }) => id)
          )
        ),
        Effect.orElseSucceed(() => refusal)
      )
    default:
      return Effect.succeed(refusal)
  }
}

const SAME_PRESS = "300 millis"

/** Ctrl-C cancels the run, whose end is then waited for; a second one leaves at once. */
const cancelOnCtrlC = Effect.fnUntraced(function* (calls: EdgeCalls, { id }: Run) {
  const host = yield* Host
  const presses = yield* Queue.unbounded<void>()
  yield* receiveSignal("SIGINT", () => Queue.offerUnsafe(presses, undefined))
  yield* Queue.take(presses)
  host.warn("\nCancelling the run; Ctrl-C again leaves it.\n")
  // The event stream tells how it went. A run that has just ended by itself cannot be cancelled, and need not.
  yield* Effect.forkChild(Effect.ignore(calls.runs.cancel({ params: { id } })))
  // One Ctrl-C arrives twice where npm passes it on besides the terminal.
  yield* Effect.sleep(SAME_PRESS)
  yield* Queue.clear(presses)
  yield* Queue.take(presses)
  return yield* exitWith(exitCodes.cancelled)
}, Effect.scoped)

export const run = Command.make(
  "run",
  flags,
  Effect.fn(function* ({
    url,
    tokenFile,
    agent,
    workspace,
    mode,
    model,
    timeout,
    json,
    yes,
    noInput,
    prompt
  }) {
    if (yes && noInput) {
      return yield* new CommandFailed({
        message: "--yes allows everything and --no-input waits for somebody: choose one.",
        exitCode: exitCodes.refused
      })
    }
    const host = yield* Host
    const edge = { url, tokenFile }
    const calls = yield* connect(edge)
    const started = yield* create(calls, {
      agentId: agent,
      workspace,
      mode,
      input: { text: prompt.join(" ") },
      ...Option.match(model, { onNone: () => ({}), onSome: (model) => ({ model }) }),
      ...Option.match(timeout, { onNone: () => ({}), onSome: (seconds) => ({ timeoutMs: seconds * 1_000 }) })
    })
    const approving = yes ? "allow" : noInput || json || !host.interactive ? "wait" : "ask"
    yield* Effect.raceFirst(
      follow({ calls, edge, runId: started.id, after: 0, json, approving }),
      cancelOnCtrlC(calls, started)
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
