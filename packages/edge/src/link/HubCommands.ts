/**
 * Commands of the Hub, executed like requests to the local API.
 *
 * Guarantees: a command takes effect once. A repeated command joins the one in progress. A later one finds the effect: a run by its id, a
 * cancellation, a finish, a pause and a decision by the state of the run, an input and an answer by its receipt. If a broken
 * link lost an outcome, it is computed again when the Hub repeats the command.
 */
import type { CommandOutcome, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { errorTable } from "@corral/domain/errors/ErrorTable"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { traceparentOf } from "@corral/domain/http/TraceContext"
import { CurrentTraces } from "@corral/service/telemetry/Traces"
import { Cause, Context, Deferred, Effect, Layer } from "effect"
import { type CommandCall, commandHandler, encodeOutcome, refusedOutcome } from "./CommandHandlers.ts"

export class HubCommands extends Context.Service<
  HubCommands,
  {
    /** Never fails. Continues after its caller is interrupted. */
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
          Effect.logError("failed to execute a command of the Hub", { command: name }, Cause.squash(cause)),
          refusedOutcome({ code: "internal", message: errorTable.internal.message })
        )
      ),
      Effect.annotateLogs({ commandId, requestId })
    )
  }

  /** A span for the command, in the trace of its sender. */
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
      // A run starts once, even if its commands have different ids.
      const key = command.name === "StartRun" ? command.payload.runId : command.commandId
      const found = running.get(key)
      if (found !== undefined) return Deferred.await(found)
      const done = Deferred.makeUnsafe<CommandOutcome>()
      running.set(key, done)
      // A run whose files arrive is cancelled once it has started.
      const starting = command.name === "CancelRun" ? running.get(command.payload.runId) : undefined
      const outcome = traced(deviceId, command)
      const work = (
        starting === undefined ? outcome : Effect.andThen(Deferred.await(starting), outcome)
      ).pipe(
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
