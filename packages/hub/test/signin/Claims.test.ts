import { assert, describe, it } from "@effect/vitest"
import { claimAt, type Claims, groupsAt, identityOf, isAdmitted } from "../../src/signin/Claims.ts"
import { type OidcConfig, oidcDefaults } from "../../src/signin/OidcConfig.ts"

const config = (rest: Partial<OidcConfig> = {}): OidcConfig => ({
  ...oidcDefaults,
  issuer: "https://idp.example",
  clientId: "corral",
  ...rest
})

describe("claims", () => {
  const claims: Claims = {
    "https://idp.example/roles": ["by its own name"],
    "urn:zitadel:iam:org:project:roles": { admin: { "1": "org.example" }, user: {} },
    realm_access: { roles: ["one", 2, "two"] },
    groups: "only",
    list: ["x"]
  }

  it.each([
    ["realm_access.roles", ["one", "two"]],
    ["https://idp.example/roles", ["by its own name"]],
    ["urn:zitadel:iam:org:project:roles", ["admin", "user"]],
    ["groups", ["only"]],
    ["missing", []],
    ["realm_access.missing.more", []],
    ["list.length", []],
    ["constructor", []],
    ["realm_access.constructor.name", []]
  ])("has groups at %s", (path, groups) => {
    assert.deepStrictEqual(groupsAt(claims, path), groups)
  })

  it("finds nothing that the provider did not say", () => {
    assert.isUndefined(claimAt({}, "__proto__"))
    assert.isUndefined(claimAt({}, "toString"))
  })

  it.each<[Claims, string, string | undefined]>([
    [{ name: "Ada", email: "a@x.example", email_verified: true }, "Ada", "a@x.example"],
    [{ name: "Ada", email: "a@x.example" }, "Ada", undefined],
    [{ name: "Ada", email: "a@x.example", email_verified: "true" }, "Ada", undefined],
    [{ preferred_username: "ada" }, "ada", undefined],
    [{ name: "  ", preferred_username: "ada" }, "ada", undefined],
    [{ name: 7 }, "Somebody", undefined],
    [{ name: "A\u0000d\na" }, "A d a", undefined],
    [{ name: "\ud800" }, "\ufffd", undefined],
    [{ name: "💾".repeat(300) }, "💾".repeat(100), undefined]
  ])("name a person (%#)", (claims, name, email) => {
    assert.deepStrictEqual(identityOf(claims, config(), "s1"), {
      issuer: "https://idp.example",
      subject: "s1",
      name,
      email
    })
  })

  it("takes a claim that was chosen for the address as it is", () => {
    const places = { ...oidcDefaults.claims, email: "preferred_username" }
    assert.strictEqual(
      identityOf({ preferred_username: "a@x.example" }, config({ claims: places }), "s").email,
      "a@x.example"
    )
  })

  it.each<[string, Claims, Partial<OidcConfig>, boolean]>([
    ["nothing asked", {}, {}, true],
    ["a group", { groups: ["a", "b"] }, { allowedGroups: ["b"] }, true],
    ["a name like it", { groups: ["bb"] }, { allowedGroups: ["b"] }, false],
    ["an overage pointer", { _claim_names: { groups: "src1" } }, { allowedGroups: ["b"] }, false],
    ["a domain", { email: "a@X.example", email_verified: true }, { allowedDomains: ["x.example"] }, true],
    [
      "a domain below",
      { email: "a@s.x.example", email_verified: true },
      { allowedDomains: ["x.example"] },
      false
    ],
    [
      "two signs",
      { email: "a@x.example@y.example", email_verified: true },
      { allowedDomains: ["x.example"] },
      false
    ],
    ["unverified", { email: "a@x.example" }, { allowedDomains: ["x.example"] }, false],
    [
      "one of two",
      { groups: ["b"], email: "a@y.example", email_verified: true },
      { allowedGroups: ["b"], allowedDomains: ["x.example"] },
      false
    ]
  ])("let in or not: %s", (_, claims, rest, admitted) => {
    assert.strictEqual(isAdmitted(claims, config(rest)), admitted)
  })
})
