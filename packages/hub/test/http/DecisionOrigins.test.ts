/** Origin of decisions at a Hub: by the sign-in, and `editor` where a person says so. */
import { ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import { PrincipalKind } from "@corral/domain/identity/User"
import { assert, describe, it } from "@effect/vitest"
import { decisionOriginOf } from "../../src/http/Approvals.ts"

const origins = (origin: "editor" | "terminal" | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    PrincipalKind.literals.map((kind) => [
      kind,
      decisionOriginOf(kind, origin === undefined ? {} : { [ORIGIN_HEADER]: origin })
    ])
  )

describe("The origin of a decision", () => {
  it("follows the sign-in", () => {
    const bySignIn = { web: "console", cli: "terminal", desktop: "editor", key: "terminal", chat: "chat" }
    assert.deepStrictEqual(origins(undefined), bySignIn)
    // Another origin cannot be chosen.
    assert.deepStrictEqual(origins("terminal"), bySignIn)
  })

  it("is an editor if a person says so, and never for a key or a chat", () => {
    assert.deepStrictEqual(origins("editor"), {
      web: "editor",
      cli: "editor",
      desktop: "editor",
      key: "terminal",
      chat: "chat"
    })
  })
})
