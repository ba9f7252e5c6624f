/**
 * Commands of the Hub, executed as the local API would execute them.
 *
 * Guarantees: a command takes effect once. A repeated command joins the one that is running; a later one finds the effect: a run by its
 * id, a cancel and a decision by the state of the run, an input by its receipt. An outcome that a broken link lost is computed again when
 * the Hub repeats the command.
 */
import type { CommandOutcome, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { errorTable } from "@corral/domain/errors/ErrorTable"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { traceparentOf } from "@corral/domain/http/TraceContext"
import { CurrentTraces } from "@corral/service/telemetry/Traces"
import { Cause, Context, Deferred, Effect, Layer } from "effect"
import { type CommandCall, commandHandler } from "./CommandHandlers.ts"
import { encodeOutcome, refusedOutcome } from "./CommandOutcome.ts"

export class HubCommands extends Context.Service<
  HubCommands,
  {
    /** Never fails. Continues when its caller stops waiting. */
    readonly execute: (deviceId: DeviceId, command: EdgeCommand) => Effect.Effect<CommandOutcome>
  }
>()("corral/edge/link/HubCommands") {
  static readonly layer = Layer.effect(
    HubCommands,
    Effect.suspend(() => make())
  )
}

const make = Effect.fnUntraced(function* () {
  const handle = yield* commandHandler
  const traces = yield* CurrentTraces
  const scope = yield* Effect.scope
  const running = new Map<string, Deferred.Deferred<CommandOutcome>>()

  const outcomeOf = (call: CommandCall): Effect.Effect<CommandOutcome> => {
    const { commandId, name, requestId = "" } = call.command
    return handle(call).pipe(
      Effect.flatMap((value) => encodeOutcome(name, value)),
      Effect.catch((failure) => Effect.succeed(refusedOutcome(failure))),
      Effect.catchCause((cause) =>
        Effect.as(
          Effect.logError(`the command ${name} failed`, Cause.squash(cause)),
          refusedOutcome({ code: "internal", message: errorTable.internal.message })
        )
      ),
      Effect.annotateLogs({ commandId, requestId })
    )
  }

  /** The command as a span of the trace that it came with. */
  const traced = (deviceId: DeviceId, command: EdgeCommand): Effect.Effect<CommandOutcome> =>
    Effect.suspend(() => {
      const parent = traceparentOf(command.traceparent)
      const span = traces.start(`command ${command.name}`, "server", parent, {
        "corral.command.id": command.commandId,
        "corral.request_id": command.requestId ?? ""
      })
      const outcome = outcomeOf({ deviceId, command, traceparent: span?.traceparent ?? parent })
      if (span === undefined) return outcome
      return Effect.tap(outcome, (outcome) =>
        Effect.sync(() => {
          const refusal = outcome._tag === "Refused" ? { "corral.error": outcome.error.code } : {}
          span.end({ "corral.command.outcome": outcome._tag, ...refusal }, false)
        })
      )
    })

  const execute = (deviceId: DeviceId, command: EdgeCommand): Effect.Effect<CommandOutcome> =>
    Effect.suspend(() => {
      // A run is started once, whatever the ids of its commands.
      const key = command.name === "StartRun" ? command.payload.runId : command.commandId
      const found = running.get(key)
      if (found !== undefined) return Deferred.await(found)
      const done = Deferred.makeUnsafe<CommandOutcome>()
      running.set(key, done)
      const work = traced(deviceId, command).pipe(
        Effect.onExit((exit) =>
          Effect.suspend(() => {
            running.delete(key)
            return Deferred.done(done, exit)
          })
        )
      )
      return Effect.andThen(Effect.forkIn(work, scope, { startImmediately: true }), Deferred.await(done))
    })

  return HubCommands.of({ execute })
})
