import { describe, it } from "@effect/vitest"
import { attack } from "./HostilePeers.ts"

describe("A Hub with a hostile Edge", { timeout: 120_000 }, () => {
  it("serves the others, and stores nothing that an honest Edge could not store", () => attack(1_500, 1))
})
