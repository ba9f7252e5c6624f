import { assert, describe, it } from "@effect/vitest"
import { sidebarWidthOf } from "../../src/app/Sidebar.tsx"

describe("sidebarWidthOf", () => {
  it("stays within the limits, also for a damaged text", () => {
    assert.deepStrictEqual(
      [null, "300.4", "10", "9999", "wide"].map((text) => sidebarWidthOf(text)),
      [256, 300, 208, 360, 256]
    )
  })
})
