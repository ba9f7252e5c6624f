import type { InputRequestId } from "../../src/identity/Ids.ts"
import { assert, describe, it } from "@effect/vitest"
import { createECDH } from "node:crypto"
import { openValue, sealValue } from "../../src/input/Seal.ts"

const id = "inq_00000000000000000000000000" as InputRequestId

const keyPair = () => {
  const pair = createECDH("prime256v1")
  pair.generateKeys()
  return {
    publicKey: pair.getPublicKey().toString("base64url"),
    privateKey: Buffer.concat([new Uint8Array(32), pair.getPrivateKey()])
      .subarray(-32)
      .toString("base64url")
  }
}

describe("sealValue", () => {
  it("seals what only the key of the same request opens", async () => {
    const keys = keyPair()
    const sealed = await sealValue(keys.publicKey, id, "pässwörd ✓")
    assert.strictEqual(await openValue(keys, id, sealed), "pässwörd ✓")
    assert.isUndefined(await openValue(keyPair(), id, sealed))
    assert.isUndefined(await openValue(keys, "inq_00000000000000000000000001", sealed))
  })

  it("gives another value each time, without the text", async () => {
    const keys = keyPair()
    const first = await sealValue(keys.publicKey, id, "same text")
    assert.notDeepEqual(await sealValue(keys.publicKey, id, "same text"), first)
    assert.notInclude(JSON.stringify(first), "same text")
  })

  it("does not open a changed value", async () => {
    const keys = keyPair()
    const { sealed } = await sealValue(keys.publicKey, id, "secret text")
    for (const field of ["key", "iv", "data"] as const) {
      const text = sealed[field]
      const changed = `${text.slice(0, -2)}${text.endsWith("AA") ? "BB" : "AA"}`
      assert.isUndefined(await openValue(keys, id, { sealed: { ...sealed, [field]: changed } }), field)
    }
    assert.isUndefined(await openValue(keys, id, { sealed: { key: "A", iv: "A", data: "A" } }))
  })
})
