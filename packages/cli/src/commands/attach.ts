/** `corral attach`: follows a run that somebody started. Ctrl-C stops the following, not the run. */
import { RunId } from "@corral/domain/identity/Ids"
import { After } from "@corral/domain/http/EventStream"
import { Effect, Queue } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { placeFlags, toggle } from "../Flags.ts"
import { followRun, stillRunning } from "../Follow.ts"
import { Host, receiveSignal } from "../Host.ts"
import { type Place, placeOf } from "../Place.ts"

export const attach = Command.make(
  "attach",
  {
    ...placeFlags,
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
    const place = yield* placeOf(choice)
    yield* place.run(runId)
    const approving = noInput || json || !host.interactive ? "wait" : "ask"
    yield* Effect.raceFirst(followRun({ place, runId, after, json, approving }), leaveOnCtrlC(place, runId))
  })
).pipe(Command.withDescription("Follow a run to its end"))

const leaveOnCtrlC = Effect.fnUntraced(function* (place: Place, runId: RunId) {
  const host = yield* Host
  const pressed = yield* Queue.unbounded<void>()
  yield* receiveSignal("SIGINT", () => Queue.offerUnsafe(pressed, undefined))
  yield* Queue.take(pressed)
  host.warn(`\n${stillRunning(host, place, runId)}\n`)
  return yield* exitWith(exitCodes.cancelled)
}, Effect.scoped)
