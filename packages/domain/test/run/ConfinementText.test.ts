import { assert, describe, it } from "@effect/vitest"
import { confinementFailure, confinementText } from "../../src/run/ConfinementText.ts"

const reason = "bubblewrap is not installed."

describe("confinementText", () => {
  it("names the means, or says why there is none", () => {
    assert.strictEqual(confinementText({ kind: "bubblewrap" }, "ask"), "confined by bubblewrap")
    assert.strictEqual(confinementText({ kind: "seatbelt" }, "ask"), "confined by seatbelt")
    assert.strictEqual(confinementText({ kind: "none", reason }, "ask"), `not confined: ${reason}`)
  })

  it("says what Landlock does not limit", () => {
    assert.match(confinementText({ kind: "landlock" }, "plan"), /files only, the network is open/)
  })

  it("gives no reason for full access, which says that it is not confined", () => {
    assert.strictEqual(confinementText({ kind: "none", reason }, "full_access"), "not confined")
    assert.isUndefined(confinementFailure({ kind: "none", reason }, "full_access"))
  })
})
