/** What goes from a handler to an Edge: the person may use the target, asked each time, and nothing of the Hub's is held meanwhile. */
import { UnauthorizedTarget } from "@corral/domain/errors/Failures"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { Targets } from "../edges/Targets.ts"

/** Runs `self` where the caller may use the target for that project. */
export const routed =
  (targets: Targets["Service"], place: { readonly targetId: DeviceId; readonly projectId: ProjectId }) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const { userId } = yield* CurrentPrincipal
      const may = yield* targets.canRoute(userId, place.targetId, place.projectId)
      return yield* may ? self : Effect.fail(new UnauthorizedTarget())
    })
