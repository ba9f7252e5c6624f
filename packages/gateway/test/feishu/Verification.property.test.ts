import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as fc from "fast-check"
import { decrypt, makeFeishuVerifier } from "../../src/feishu/Verification.ts"
import {
  APP,
  unsigned,
  encrypted,
  envelope,
  KEY,
  feishuMessage,
  encryptedPush,
  seconds,
  type SentBotMessage,
  signed,
  TENANT,
  TOKEN
} from "@corral/testing/gateway/FakeFeishu"

const NOW = 1_790_000_000_000
const config = {
  appId: APP,
  verificationToken: Redacted.make(TOKEN),
  domain: "https://open.feishu.cn",
  tenants: [TENANT]
}
const withKey = makeFeishuVerifier("feishu", { ...config, encryptKey: Redacted.make(KEY) })
const plain = makeFeishuVerifier("feishu", config)
const verdicts = ({ body, headers }: SentBotMessage) =>
  [withKey, plain].map((verify) => verify({ kind: "events", body, headers, receivedAt: NOW }))

const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array))
const good = encryptedPush(envelope({ event_id: "ev_1" }, feishuMessage("hello")), NOW)

describe("a verifier", () => {
  it("gives a verdict on any bytes, signed or not, and accepts none of them", () => {
    fc.assert(
      fc.property(bytes, fc.string({ maxLength: 40 }), (body, timestamp) => {
        for (const sent of [
          unsigned(body.toString("latin1")),
          { body, headers: {} },
          signed(body, timestamp)
        ])
          for (const verdict of verdicts(sent)) assert.strictEqual(verdict._tag, "Refused")
      })
    )
  })

  it("gives a verdict on any JSON, encrypted and signed", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const sent of [encryptedPush(value, NOW), unsigned(value), unsigned({ encrypt: value })])
          for (const verdict of verdicts(sent)) assert.strictEqual(verdict._tag, "Refused")
      })
    )
  })

  it("gives a verdict on any content of an event", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.dictionary(fc.string(), fc.string()),
        (event, header) => {
          const [verdict] = verdicts(
            encryptedPush(envelope({ ...header, app_id: APP, token: TOKEN }, event), NOW)
          )
          assert.notStrictEqual(verdict?._tag, "Challenge")
        }
      )
    )
  })

  it("refuses a signed body of which any bit was changed", () => {
    assert.strictEqual(verdicts(good)[0]?._tag, "Accepted")
    fc.assert(
      fc.property(fc.nat(good.body.length * 8 - 1), (bit) => {
        const body = Buffer.from(good.body)
        body.writeUInt8(body.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
        const [verdict] = verdicts({ body, headers: good.headers })
        assert.deepInclude(verdict, { _tag: "Refused", code: "unauthorized" })
      })
    )
  })

  it("refuses headers that were changed under a signature", () => {
    for (const name of ["x-lark-request-timestamp", "x-lark-request-nonce", "x-lark-signature"]) {
      const headers = { ...good.headers, [name]: `${good.headers[name]}0` }
      assert.deepInclude(verdicts({ body: good.body, headers })[0], { _tag: "Refused", code: "unauthorized" })
    }
  })

  it("takes any event within 8 hours, and none outside", () => {
    fc.assert(
      fc.property(fc.integer({ min: -100_000, max: 100_000 }), (ago) => {
        const at = NOW - ago * 1_000
        const [verdict] = verdicts(
          encryptedPush(envelope({ event_id: "ev_1" }, feishuMessage("x")), at, seconds(at))
        )
        assert.strictEqual(verdict?._tag, ago <= 8 * 3_600 && ago >= -300 ? "Accepted" : "Refused")
      })
    )
  })
})

describe("decrypt", () => {
  it("reads the platform's own example", () => {
    const found = decrypt("P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=", "test key")
    assert.strictEqual(found?.toString(), "hello world")
  })

  it("gives back what was encrypted, and throws at nothing", () => {
    fc.assert(
      fc.property(bytes, fc.string(), (body, text) => {
        assert.isTrue(decrypt(encrypted(body), KEY)?.equals(body))
        decrypt(text, KEY)
        decrypt(body.toString("base64"), text)
      })
    )
  })
})
