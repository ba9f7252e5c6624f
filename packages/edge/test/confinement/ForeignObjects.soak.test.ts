/** Each attempt of a run in place to let later runs read the objects of another repository. */
import { describe, it } from "@effect/vitest"
import { canConfine } from "./CanConfine.ts"
import { assertNoForeignObjects, attempts } from "./ForeignObjects.ts"

describe.skipIf(!canConfine)("objects of another repository", () => {
  it.each(Object.entries(attempts))("stay out of the list of a repository after %s", (_, script) =>
    assertNoForeignObjects([script])
  )
})
