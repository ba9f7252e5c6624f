/**
 * The way from the Hub to the Edge of a target, and never to another one. Who may ask is found before; what comes of it is the Edge's answer.
 *
 * A failure says that the Edge did not do it. An answer that does not come is `target_offline` for reads; for a command it is waited for,
 * because nobody guesses what was done.
 */
import type { Approval } from "@corral/domain/Approval"
import type { Artifact } from "@corral/domain/Artifact"
import type { Diff } from "@corral/domain/Diff"
import type { CommandPayload } from "@corral/domain/EdgeCommand"
import {
  type ApprovalAlreadyResolved,
  type ApprovalExpired,
  type InvalidAgentId,
  type PermissionDenied,
  type RunNotCancellable,
  type RuntimeUnavailable,
  TargetOffline,
  type WorkspaceOutsideAllowlist
} from "@corral/domain/Failures"
import type { DeviceId } from "@corral/domain/Ids"
import type { CreateRun, Run } from "@corral/domain/Run"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { Targets } from "./Targets.ts"

/** Why an Edge does not take a run. */
export type StartRefusal = InvalidAgentId | PermissionDenied | RuntimeUnavailable | WorkspaceOutsideAllowlist

type Routed<A, E> = Effect.Effect<A, E | TargetOffline | SqlError.SqlError>

export class EdgeRouter extends Context.Service<
  EdgeRouter,
  {
    /** Whether the target is there and offers that agent and workspace, as far as it has told. */
    readonly ready: (targetId: DeviceId, create: CreateRun) => Routed<void, StartRefusal>
    readonly start: (targetId: DeviceId, command: CommandPayload<"StartRun">) => Routed<Run, StartRefusal>
    readonly cancel: (
      targetId: DeviceId,
      command: CommandPayload<"CancelRun">
    ) => Routed<Run, RunNotCancellable>
    readonly decide: (
      targetId: DeviceId,
      command: CommandPayload<"DecideApproval">
    ) => Routed<Approval, ApprovalAlreadyResolved | ApprovalExpired>
    readonly diff: (targetId: DeviceId, command: CommandPayload<"ReadDiff">) => Routed<Diff, PermissionDenied>
    readonly artifacts: (
      targetId: DeviceId,
      command: CommandPayload<"ListArtifacts">
    ) => Routed<ReadonlyArray<Artifact>, PermissionDenied>
  }
>()("corral/hub/EdgeRouter") {
  /** No Edge is ever reached. */
  static readonly layerOffline = Layer.effect(
    EdgeRouter,
    Effect.gen(function* () {
      const targets = yield* Targets
      const offline = Effect.fnUntraced(function* (targetId: DeviceId) {
        const lastSeenAt = (yield* targets.find(targetId))?.lastSeenAt
        return yield* new TargetOffline({
          details: { targetId, ...(lastSeenAt === undefined ? {} : { lastSeenAt }) }
        })
      })
      return EdgeRouter.of({
        ready: offline,
        start: offline,
        cancel: offline,
        decide: offline,
        diff: offline,
        artifacts: offline
      })
    })
  )
}
