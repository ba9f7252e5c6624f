import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { cookieScopeOf } from "../../src/http/SessionCookies.ts"
import { returnPathOf } from "../../src/signin/LoginAttempts.ts"

const names = ["__Host-corral", "__Host-corral-csrf", "__Host-corral-login", "__Host-corral-link"]
const path = fc
  .array(fc.stringMatching(/^[a-z0-9_-]{1,8}$/), { minLength: 1, maxLength: 3 })
  .map((parts) => `/${parts.join("/")}`)

describe("cookieScopeOf", () => {
  it("has the contract's names and the path / at the root of an origin", () => {
    const { nameOf, path: root, prefix, received } = cookieScopeOf("https://corral.example")
    assert.deepStrictEqual([root, prefix, ...names.map(nameOf)], ["/", "", ...names])
    fc.assert(fc.property(fc.string(), (header) => received(header) === header))
  })

  it("has cookies of its path below one, and reads them under the contract's names", () => {
    fc.assert(
      fc.property(path, fc.subarray(names), fc.stringMatching(/^[\w%-]{0,20}$/), (at, some, value) => {
        const scope = cookieScopeOf(`https://corral.example${at}`)
        assert.deepStrictEqual([scope.path, scope.prefix], [at, at])
        const stored = some.map((name) => `${scope.nameOf(name)}=${value}`)
        assert.isTrue(stored.every((pair) => pair.startsWith("__Secure-")))
        assert.strictEqual(
          scope.received(["theme=dark", ...stored].join("; ")),
          ["theme=dark", ...some.map((name) => `${name}=${value}`)].join("; ")
        )
      })
    )
  })

  it("ignores the cookies of a Hub at the root of the same origin", () => {
    const { received } = cookieScopeOf("https://corral.example/hub")
    for (const name of names) assert.strictEqual(received(`${name}=theirs; a=b`), "a=b")
    assert.strictEqual(received("__Host-corral=theirs; __Secure-corral=mine"), "__Host-corral=mine")
    // Two of the same name stay two, which the Hub refuses.
    const both = "__Secure-corral=mine; __Secure-corral=tossed"
    assert.strictEqual(received(both), "__Host-corral=mine; __Host-corral=tossed")
  })

  it("is not left by a return path", () => {
    const hub = "https://corral.example/some/hub"
    const dots = fc.constantFrom("..", "%2e%2e", "%2E.", ".%2e", ".", "a", "", "%2f", "\\", "?", "#", "//")
    fc.assert(
      fc.property(fc.array(dots, { maxLength: 8 }), (parts) => {
        const { href } = new URL(hub + returnPathOf(`/${parts.join("/")}`))
        assert.isTrue(href.startsWith(`${hub}/`), href)
      })
    )
  })
})
