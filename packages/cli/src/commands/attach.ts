/** `corral attach`: follows a run that somebody started. Ctrl-C stops the following, not the run. */
import { RunId } from "@corral/domain/identity/Ids"
import { After } from "@corral/domain/http/EventStream"
import { Effect, Queue } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { runServerFlags, toggle } from "../Flags.ts"
import { followRun, stillRunningMessage } from "../run/Follow.ts"
import { Host, receiveSignal } from "../terminal/Host.ts"
import type { RunServer } from "../run/RunServer.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"

export const attachCommand = Command.make(
  "attach",
  {
    ...runServerFlags,
    after: Flag.Int("after").pipe(
      Flag.withDescription("Only what came after this seq"),
      Flag.withSchema(After),
      Flag.withDefault(0)
    ),
    json: toggle("json", "Print the events as JSON lines"),
    noInput: toggle("no-input", "Never ask here about approvals"),
    run: Argument.String("run").pipe(Argument.withDescription("Id of the run"), Argument.withSchema(RunId))
  },
  Effect.fn(function* ({ after, json, noInput, run: runId, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    yield* server.run(runId)
    const approving = noInput || json || !host.interactive ? "wait" : "ask"
    yield* Effect.raceFirst(
      followRun({ place: server, runId, after, json, approving }),
      leaveOnCtrlC(server, runId)
    )
  })
).pipe(Command.withDescription("Follow a run to its end"))

const leaveOnCtrlC = Effect.fnUntraced(function* (server: RunServer, runId: RunId) {
  const host = yield* Host
  const pressed = yield* Queue.unbounded<void>()
  yield* receiveSignal("SIGINT", () => Queue.offerUnsafe(pressed, undefined))
  yield* Queue.take(pressed)
  host.warn(`\n${stillRunningMessage(host, server, runId)}\n`)
  return yield* exitWith(exitCodes.cancelled)
}, Effect.scoped)
