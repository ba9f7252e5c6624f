import { assert, describe, it } from "@effect/vitest"
import { X509Certificate } from "node:crypto"
import { makeRunAuthority } from "../../src/network/RunAuthority.ts"

const NOW = Date.parse("2026-11-24T12:00:00Z")

describe("makeRunAuthority", () => {
  it("signs certificates for the hosts, which other authorities did not sign", async () => {
    const hosts = [["model.test"], ["localhost", "127.0.0.1", "::1", "2001:db8::a:0:1"]]
    const [first, second] = await Promise.all([makeRunAuthority(hosts, NOW), makeRunAuthority([], NOW)])
    const authority = new X509Certificate(first.certificate)
    const other = new X509Certificate(second.certificate)
    assert.isTrue(authority.ca)
    assert.isTrue(authority.verify(authority.publicKey))
    const [named, local] = first.signed.map(({ cert }) => new X509Certificate(cert))
    for (const each of [named, local]) {
      assert.isTrue(each?.checkIssued(authority))
      assert.isTrue(each?.verify(authority.publicKey))
      assert.isFalse(each?.verify(other.publicKey))
      assert.isFalse(each?.ca)
    }
    assert.strictEqual(named?.checkHost("model.test"), "model.test")
    assert.isUndefined(named?.checkHost("other.test"))
    assert.strictEqual(local?.checkHost("localhost"), "localhost")
    for (const address of ["127.0.0.1", "::1", "2001:db8::a:0:1"])
      assert.isDefined(local?.checkIP(address), `${address}: ${local?.subjectAltName}`)
    assert.isUndefined(local?.checkIP("127.0.0.2"))
  })

  it("signs for a little longer than a day", async () => {
    const { certificate } = await makeRunAuthority([], NOW)
    const { validFrom, validTo } = new X509Certificate(certificate)
    assert.deepStrictEqual(
      [validFrom, validTo].map((text) => (Date.parse(text) - NOW) / 3_600_000),
      [-1, 26]
    )
  })
})
