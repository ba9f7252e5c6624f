import { describe, it } from "@effect/vitest"
import { survives } from "./Crash.ts"

describe("a Gateway that is killed 50 times", () => {
  it("loses nothing and has no effect twice", () => survives(50))
})
