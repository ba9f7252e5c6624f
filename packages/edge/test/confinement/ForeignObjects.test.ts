/** A run in place that tries to let later runs read the objects of another repository. The soak test has each attempt by itself. */
import { describe, it } from "@effect/vitest"
import { canConfine } from "./CanConfine.ts"
import { assertNoForeignObjects, attempts } from "./ForeignObjects.ts"

describe.skipIf(!canConfine)("objects of another repository", () => {
  it("stay out of the list of a repository after all attempts of one run", () =>
    assertNoForeignObjects(Object.values(attempts)))
})
