/** Hostile programs against the limits of the kernel. */
import { describe, it } from "@effect/vitest"
import { canConfine } from "./CanConfine.ts"
import { assertHeld, users } from "./HostileRun.ts"

describe.skipIf(!canConfine)("hostile programs", () => {
  for (const [who, user] of users)
    it(`change only their copies of protected folders in ask as ${who}`, () =>
      assertHeld("ask", user, { hasCopies: true }))
  for (const [who, user] of users)
    for (const mode of ["read_only", "ask"] as const)
      it(`change nothing beyond ${mode} as ${who}`, () => assertHeld(mode, user))
})
