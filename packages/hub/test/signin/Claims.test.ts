import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { effort } from "@corral/testing/time/Effort"
import { claimAt, type Claims, groupsAt, identityOf, isAdmitted } from "../../src/signin/Claims.ts"
import { type OidcConfig, oidcDefaults } from "../../src/config/HubConfig.ts"

const config = (rest: Partial<OidcConfig> = {}): OidcConfig => ({
  ...oidcDefaults,
  issuer: "https://idp.example",
  clientId: "corral",
  ...rest
})

describe("Claims", () => {
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
  ])("contain groups at %s", (path, groups) => {
    assert.deepStrictEqual(groupsAt(claims, path), groups)
  })

  it("contain only what the provider sent", () => {
    assert.isUndefined(claimAt({}, "__proto__"))
    assert.isUndefined(claimAt({}, "toString"))
  })

  it.each<[Claims, string, string | undefined]>([
    [{ name: "Ada", email: "a@x.example", email_verified: true }, "Ada", "a@x.example"],
    [{ name: "Ada", email: "a@x.example" }, "Ada", undefined],
    [{ name: "Ada", email: "a@x.example", email_verified: "true" }, "Ada", undefined],
    [{ preferred_username: "ada" }, "ada", undefined],
    [{ name: "  ", preferred_username: "ada" }, "ada", undefined],
    [{ name: 7 }, "Unnamed user", undefined],
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

  it("use a configured address claim unchanged", () => {
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
  ])("decide the admission: %s", (_, claims, rest, admitted) => {
    assert.strictEqual(isAdmitted(claims, config(rest)), admitted)
  })

  describe("allowed domains", () => {
    const only = config({ allowedDomains: ["example.test"] })
    const admits = (email: unknown): boolean => isAdmitted({ email, email_verified: true }, only)

    it.each(["x@example.test", "X.Y+z@EXAMPLE.test", "o'neil@example.test"])("admit %j", (email) =>
      assert.isTrue(admits(email))
    )
    it.each([
      "x@evil.test@example.test",
      '"x@evil.test"@example.test',
      "x@evil.test,y@example.test",
      "<x@evil.test>@example.test",
      "x@evil.test @example.test",
      "x@evil.test\u0000@example.test",
      "x@evil.test\n@example.test",
      "@example.test",
      "example.test",
      "x@example.test.",
      "x@.example.test",
      "x@example.test ",
      "x@example.test>",
      "x@sub.example.test",
      "x@evil-example.test",
      "x@example.test.evil.test",
      "x@ｅxample.test",
      "x@exаmple.test",
      "x(@example.test",
      `${"x".repeat(65)}@example.test`,
      ["x@example.test"],
      { toString: "x@example.test" }
    ])("refuse %j", (email) => assert.isFalse(admits(email)))

    it("refuse an address that is longer than the 200 shown characters", () => {
      const local = "x".repeat(200 - "@example.test".length)
      assert.isFalse(admits(`${local}@example.test.evil.test`))
    })

    it("admit exactly the addresses of that domain with one @ among any other characters", () => {
      const part = fc.constantFrom(
        "x",
        "evil.test",
        "example.test",
        "@",
        ".",
        " ",
        '"',
        ",",
        "\u0000",
        "\u200b",
        "<",
        ">",
        "+",
        "%40",
        "\\"
      )
      fc.assert(
        fc.property(fc.array(part, { maxLength: 7 }), (parts) => {
          const email = parts.join("")
          const plain = /^[A-Za-z0-9.+%]{1,64}@example\.test$/.test(email)
          assert.strictEqual(admits(email), plain, JSON.stringify(email))
        }),
        { numRuns: 5_000 * effort }
      )
    })
  })
})
