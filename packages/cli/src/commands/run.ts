/**
 * `corral run` and `corral attach`: starts a run, or takes an existing one, and follows it. The exit code of `run` is the outcome of the run. In
 * `attach`, Ctrl-C detaches; the run continues.
 */
import { After } from "@corral/domain/http/EventStream"
import { AgentId, type RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { Isolation, RunMode } from "@corral/domain/run/Run"
import { Effect, Option, Queue } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { exitCodes, exitWith, refused } from "../CommandFailed.ts"
import { DurationText, runServerFlags, toggle } from "../Flags.ts"
import { followInTerminal, stillRunningMessage } from "../run/Follow.ts"
import { idStart, resolveRunId, runArgument } from "../run/IdArguments.ts"
import type { RunServer } from "../run/RunServer.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { startRun } from "../run/StartRun.ts"
import { runCandidates } from "./compare.ts"
import { limitFlags } from "../run/TurnLimits.ts"
import { Host, receiveSignal } from "../terminal/Host.ts"

/** `corral attach`: follows an existing run. Ctrl-C detaches; the run continues. */
export const attachCommand = Command.make(
  "attach",
  {
    ...runServerFlags,
    after: Flag.Int("after").pipe(
      Flag.withDescription("Show only events after this seq"),
      Flag.withSchema(After),
      Flag.withDefault(0)
    ),
    json: toggle("json", "Print events as JSON lines"),
    noInput: toggle("no-input", "Never prompt for approvals and answers"),
    run: runArgument
  },
  Effect.fn(function* ({ after, json, noInput, run, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const runId = yield* resolveRunId(server)(run)
    yield* server.run(runId)
    const asks = !noInput && !json && host.interactive
    yield* Effect.raceFirst(
      followInTerminal({ place: server, runId, after, json, asks }),
      leaveOnCtrlC(server, runId)
    )
  })
).pipe(Command.withDescription("Follow a run to its end"))

const leaveOnCtrlC = Effect.fnUntraced(function* (server: RunServer, runId: RunId) {
  const host = yield* Host
  const presses = yield* Queue.unbounded<void>()
  yield* receiveSignal("SIGINT", () => Queue.offerUnsafe(presses, undefined))
  yield* Queue.take(presses)
  host.warn(`\n${stillRunningMessage(host, server, runId)}\n`)
  return yield* exitWith(exitCodes.cancelled)
}, Effect.scoped)

const flags = {
  ...runServerFlags,
  edge: toggle("edge", "Only on this machine: use its Edge, also if the workspace is linked to a project"),
  resume: Flag.String("resume").pipe(
    Flag.withDescription("Continue the conversation of this run: its id, or the start of it"),
    Flag.withSchema(idStart("run")),
    Flag.optional
  ),
  continueLast: toggle(
    "continue",
    "Continue the latest conversation. A run that works in the background receives the text at once"
  ),
  agent: Flag.String("agent").pipe(
    Flag.withAlias("a"),
    Flag.withDescription(
      "Agent: scripted, claude-code, … (`corral doctor` lists them). Default: the only one that is available"
    ),
    Flag.withSchema(AgentId),
    Flag.optional
  ),
  agents: Flag.String("agents").pipe(
    Flag.withDescription(
      "With a Hub: 2 to 5 agents for the same task, each in its own copy, such as claude-code,codex:gpt-5. At the end they are compared"
    ),
    Flag.optional
  ),
  workspace: Flag.String("workspace").pipe(
    Flag.withAlias("w"),
    Flag.withDescription("Id of the workspace. Default: the only one"),
    Flag.withSchema(WorkspaceId),
    Flag.optional
  ),
  mode: Flag.Literals("mode", RunMode.literals).pipe(
    Flag.withDescription(
      "What the agent can do without approval. Default: ask, or the mode of the resumed run"
    ),
    Flag.optional
  ),
  model: Flag.String("model").pipe(Flag.withDescription("Model of the agent"), Flag.optional),
  isolation: Flag.Literals("isolation", Isolation.literals).pipe(
    Flag.withDescription(
      "Where the agent writes: the workspace, a git worktree, or a layer that you accept from. Default: that of the workspace or of the resumed run"
    ),
    Flag.optional
  ),
  ...limitFlags,
  background: Flag.String("background").pipe(
    Flag.withDescription("Longest time that work can continue in the background after a turn, such as 10m"),
    Flag.withSchema(DurationText),
    Flag.optional
  ),
  inputTtl: Flag.String("input-ttl").pipe(
    Flag.withDescription("Time until a question expires, such as 2h. Default: it does not expire"),
    Flag.withSchema(DurationText),
    Flag.optional
  ),
  target: Flag.String("target").pipe(
    Flag.withDescription("With a Hub: device id or name. Default: the only device with this workspace"),
    Flag.optional
  ),
  queue: toggle("queue", "With a Hub: wait for an offline device"),
  json: toggle("json", "Print events as JSON lines"),
  yes: toggle("yes", "Allow every action. Questions and plans still wait for your answer").pipe(
    Flag.withAlias("y")
  ),
  noInput: toggle("no-input", "Never prompt: approvals and questions wait for an answer elsewhere"),
  prompt: Argument.String("prompt").pipe(
    Argument.withDescription("Task for the agent"),
    Argument.variadic({ min: 1 })
  )
}

const SAME_PRESS = "300 millis"

/** Ctrl-C cancels the run and waits for its end. A second Ctrl-C exits immediately. */
const cancelOnCtrlC = Effect.fnUntraced(function* (server: RunServer, id: RunId) {
  const host = yield* Host
  const presses = yield* Queue.unbounded<void>()
  yield* receiveSignal("SIGINT", () => Queue.offerUnsafe(presses, undefined))
  yield* Queue.take(presses)
  host.warn("\nCancelling the run. Press Ctrl-C again to exit without waiting.\n")
  // The event stream shows the result. Cancelling a run that has just ended fails, which is fine.
  yield* Effect.forkChild(Effect.ignore(server.cancel(id)))
  // npm forwards the Ctrl-C of the terminal, so it arrives twice.
  yield* Effect.sleep(SAME_PRESS)
  yield* Queue.clear(presses)
  yield* Queue.take(presses)
  host.warn(`\nDetached. \`${host.invocation} attach ${id}${server.named}\` follows the run again.\n`)
  return yield* exitWith(exitCodes.cancelled)
}, Effect.scoped)

export const runCommand = Command.make(
  "run",
  flags,
  Effect.fn(function* ({ agents, json, yes, noInput, ...request }) {
    if (yes && noInput) return yield* refused("--yes and --no-input can't be combined.")
    if (Option.isSome(agents)) {
      if (yes) return yield* refused("--yes can't be combined with --agents. Choose a mode with --mode.")
      return yield* runCandidates(request, agents.value, json)
    }
    const host = yield* Host
    const { after, runId, server } = yield* startRun(request)
    const asks = !noInput && !json && host.interactive
    yield* Effect.raceFirst(
      followInTerminal({ place: server, runId, after, json, allowsAll: yes, asks }),
      cancelOnCtrlC(server, runId)
    )
  })
).pipe(
  Command.withDescription("Start a run and follow it to its end"),
  Command.withExamples([
    {
      command: 'corral run --agent scripted --workspace sample "Read the notes and write a summary"',
      description: "A first run, without a model"
    },
    { command: 'corral run --continue "Now in French"', description: "The next turn of the latest run" },
    {
      command: 'corral run --agents claude-code,codex "Fix the failing test"',
      description: "Two agents on the same task, compared at the end"
    }
  ])
)
