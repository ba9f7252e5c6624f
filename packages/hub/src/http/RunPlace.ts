/** Place of the run of a request, and the proof that the caller may take the action there. */
import type { RoleAction } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { Runs } from "../run/Runs.ts"

/** Finds the place of a run. A run that the caller may not see is indistinguishable from one that does not exist. */
export const runPlaces = Effect.gen(function* () {
  const authority = yield* HubAuthority
  const runs = yield* Runs
  return Effect.fnUntraced(function* <A extends RoleAction>(action: A, id: RunId) {
    const place = (yield* runs.locate(id)) ?? (yield* new PermissionDenied())
    return { id, ...place, proof: yield* authority.inProject(action, place.projectId, id) }
  })
})
