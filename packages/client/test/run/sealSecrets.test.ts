import { generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { openValue } from "@corral/domain/input/Seal"
import { CorralError } from "../../src/http/CorralError.ts"
import { sealSecrets } from "../../src/run/sealSecrets.ts"

const pair = () => {
  const {
    d = "",
    x = "",
    y = ""
  } = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
    format: "jwk"
  })
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")])
  return { publicKey: point.toString("base64url"), privateKey: d }
}

const id = "inq_01K00000000000000000000001"
const questions = [
  { id: "name", text: "Name?", kind: "text" as const },
  { id: "token", text: "Token?", kind: "text" as const, secret: true }
]

describe("sealSecrets", () => {
  it("seals the texts of secret questions, and nothing else", async () => {
    const keys = pair()
    const answer = { answers: { name: "Corral", token: "s3cret" }, comment: "For the build" }
    const sealed = await sealSecrets({ id, questions, sealingKey: keys.publicKey }, answer)
    assert.notInclude(JSON.stringify(sealed), "s3cret")
    if (!("answers" in sealed)) throw new Error("The answer has no values.")
    const { name, token } = sealed.answers
    assert.deepStrictEqual([name, sealed.comment], ["Corral", "For the build"])
    if (typeof token !== "object" || !("sealed" in token)) throw new Error("The secret is not sealed.")
    assert.strictEqual(await openValue(keys, id, token), "s3cret")
    assert.isUndefined(await openValue(keys, "inq_01K00000000000000000000002", token))
    assert.strictEqual(
      await sealSecrets({ id, questions, sealingKey: keys.publicKey }, sealed).then(JSON.stringify),
      JSON.stringify(sealed)
    )
  })

  it("leaves other answers as they are", async () => {
    for (const answer of [{ decline: true as const }, { approve: true }, { answers: { name: "Corral" } }])
      assert.strictEqual(await sealSecrets({ id, questions }, answer), answer)
  })

  it("fails without a key rather than sending a secret", async () => {
    const failure = await sealSecrets({ id, questions }, { answers: { token: "s3cret" } }).catch(
      (error: unknown) => error
    )
    assert.instanceOf(failure, CorralError)
    assert.strictEqual(failure.code, "conflict")
  })
})
