/** `corral attach`: follows an existing run. Ctrl-C detaches; the run continues. */
import type { RunId } from "@corral/domain/identity/Ids"
import { After } from "@corral/domain/http/EventStream"
import { Effect, Queue } from "effect"
import { Command, Flag } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { runServerFlags, toggle } from "../Flags.ts"
import { followInTerminal, stillRunningMessage } from "../run/Follow.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import { Host, receiveSignal } from "../terminal/Host.ts"
import type { RunServer } from "../run/RunServer.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"

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
