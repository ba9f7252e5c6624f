/** Hostile programs in the modes with the same mounts as those of `HostilePrograms.test.ts`. */
import { describe, it } from "@effect/vitest"
import { canConfine } from "./CanConfine.ts"
import { assertHeld, users } from "./HostileRun.ts"

describe.skipIf(!canConfine)("hostile programs", () => {
  for (const [who, user] of users)
    for (const mode of ["plan", "auto_edit"] as const)
      it(`change nothing beyond ${mode} as ${who}`, () => assertHeld(mode, user))
})
