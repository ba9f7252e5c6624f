import { describe, it } from "@effect/vitest"
import { survives } from "../handling/Crash.ts"

describe("a Gateway that is killed", () => {
  it("loses nothing and has no effect twice", () => survives(4))
})
