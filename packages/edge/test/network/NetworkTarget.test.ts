import { assert, describe, it } from "@effect/vitest"
import { showTarget, targetOfAuthority, targetOfUrl } from "../../src/network/NetworkTarget.ts"

const shown = (authority: string): string | undefined => {
  const target = targetOfAuthority(authority)
  return target && showTarget(target)
}

describe("targetOfAuthority", () => {
  it.each([
    ["example.com:443", "example.com:443"],
    ["EXAMPLE.com.:443", "example.com:443"],
    ["127.0.0.1:80", "127.0.0.1:80"],
    ["[::1]:80", "[::1]:80"],
    ["[0:0:0:0:0:0:0:1]:80", "[::1]:80"]
  ])("reads %s", (authority, expected) => assert.strictEqual(shown(authority), expected))

  it.each([
    ["2130706433:80", "127.0.0.1:80"],
    ["0x7f000001:80", "127.0.0.1:80"],
    ["0x7f.1:80", "127.0.0.1:80"],
    ["0177.0.0.1:80", "127.0.0.1:80"],
    ["127.1:80", "127.0.0.1:80"],
    ["[::ffff:127.0.0.1]:80", "[::ffff:7f00:1]:80"]
  ])("reads the address that %s stands for", (authority, expected) =>
    assert.strictEqual(shown(authority), expected)
  )

  it.each([
    "example.com",
    "example.com:",
    "example.com:0",
    "example.com:65536",
    "example.com:443:80",
    "example.com:0443",
    "user@example.com:443",
    "example.com:443/path",
    "http://example.com:443",
    "example.com\r\nHost: other:443",
    "exa mple.com:443",
    "example.com%00.other:443",
    "ex\u3002ample.com:443",
    "[fe80::1%25eth0]:443",
    "[::1:443",
    "::1:443",
    "..:443",
    ":443",
    `${"a".repeat(256)}:443`
  ])("finds no target in %j", (authority) => assert.isUndefined(targetOfAuthority(authority)))
})

describe("targetOfUrl", () => {
  it("reads an http address, and its path", () => {
    assert.deepStrictEqual(targetOfUrl("http://Example.com:8080/a?b#c"), {
      host: "example.com",
      port: 8080,
      path: "/a?b",
      authority: "example.com:8080"
    })
    assert.strictEqual(targetOfUrl("http://example.com")?.port, 80)
  })

  it.each(["/path", "https://example.com/", "http://a:b@example.com/", "ftp://example.com/", "*", ""])(
    "finds no target in %j",
    (url) => assert.isUndefined(targetOfUrl(url))
  )
})
