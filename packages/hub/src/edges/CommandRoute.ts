/** Route of one command to the Edge of its target: sends it and turns the answer into a value or a failure. */
import { type Conflict, type Overloaded, TargetOffline } from "@corral/domain/errors/Failures"
import type { DeviceId } from "@corral/domain/identity/Ids"
import {
  type CANDIDATES_FEATURE,
  type CommandName,
  type CommandSuccess,
  edgeCommands
} from "@corral/domain/link/EdgeCommand"
import type { RunFailure } from "@corral/domain/run/Run"
import { Effect, Option, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { type CommandRequest, OUTCOME_UNKNOWN_MESSAGE, isReadCommand } from "./CommandRequest.ts"
import type { Commands } from "./Commands.ts"
import type { Targets } from "./Targets.ts"

/** Nothing was executed: the target is offline or overloaded. */
type NotExecuted = Overloaded | TargetOffline | SqlError.SqlError
export type Routed<A, E> = Effect.Effect<A, E | NotExecuted>

/** Whether the failure leaves open what the Edge executed. */
export const isOutcomeUnknown = (error: { readonly _tag: string; readonly details?: unknown }): boolean =>
  error instanceof TargetOffline && error.details?.outcome === "unknown"

export class CommandRoute {
  private readonly commands: Commands["Service"]
  private readonly targets: Targets["Service"]

  constructor(commands: Commands["Service"], targets: Targets["Service"]) {
    this.commands = commands
    this.targets = targets
  }

  /** `toFailure` gives the meaning of a refusal; `isExpected` checks that the answer belongs to the request. */
  send<N extends CommandName, E>(
    request: CommandRequest<N>,
    toFailure: (error: RunFailure) => E | undefined,
    isExpected: (value: CommandSuccess<N>) => boolean = () => true
  ): Effect.Effect<CommandSuccess<N>, E | TargetOffline | SqlError.SqlError> {
    return Effect.gen({ self: this }, function* () {
      const { name, targetId } = request
      const result = yield* this.commands.send(request)
      if (result._tag !== "Answered")
        return yield* this.failOffline(targetId, result._tag === "Unknown" && !isReadCommand(name))
      const { outcome } = result
      if (outcome._tag === "Refused") {
        const { code, details } = outcome.error
        const failure = toFailure(outcome.error)
        if (failure !== undefined) return yield* Effect.fail(failure)
        if (code === "target_offline")
          return yield* this.failOffline(targetId, details?.["outcome"] === "unknown")
        return yield* contractBroken(name, `an unexpected error code: ${code}`)
      }
      // `edgeCommands[name]` is the command of that name, so its schema decodes to that command's success.
      const schema = edgeCommands[name].success as unknown as Schema.Codec<CommandSuccess<N>, unknown>
      const value = Schema.decodeUnknownOption(schema)(outcome.value)
      if (Option.isNone(value) || !isExpected(value.value))
        return yield* contractBroken(name, "an unexpected value")
      return value.value
    }).pipe(Effect.withSpan(`EdgeRouter.${request.name}`))
  }

  /** Fails with `refusal` where the target does not offer the command, or the feature. An Edge takes an unknown command for a protocol error and ends the link. */
  readonly requireCommand = Effect.fnUntraced(
    function* (
      this: CommandRoute,
      targetId: DeviceId,
      name: CommandName | typeof CANDIDATES_FEATURE,
      refusal: Conflict
    ) {
      const offer = yield* this.targets.currentOffer(targetId)
      if (offer === undefined) return yield* this.failOffline(targetId, false)
      if (!offer.commands.includes(name)) return yield* refusal
    }.bind(this)
  )

  readonly failOffline = Effect.fnUntraced(
    function* (this: CommandRoute, targetId: DeviceId, isUnknown: boolean) {
      const lastSeenAt = (yield* this.targets.find(targetId))?.lastSeenAt
      return yield* new TargetOffline({
        ...(isUnknown ? { message: OUTCOME_UNKNOWN_MESSAGE } : {}),
        details: {
          targetId,
          ...(lastSeenAt === undefined ? {} : { lastSeenAt }),
          ...(isUnknown ? { outcome: "unknown" as const } : {})
        }
      })
    }.bind(this)
  )
}

const contractBroken = (name: CommandName, what: string) =>
  Effect.die(new Error(`An Edge answered ${name} with ${what}.`))
