/** Addresses, versions and messages of the protocol. */
import type { SessionId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  chatAddress,
  fileAddress,
  parseChat,
  parseFile,
  parseSession,
  providerOf,
  sessionAddress
} from "../../src/protocol/Addresses.ts"
import { chooseVersion, decodeParams, parseMessage } from "../../src/protocol/Messages.ts"

const ulid = fc
  .tuple(
    fc.constantFrom(..."01234567"),
    fc.array(fc.constantFrom(..."0123456789ABCDEFGHJKMNPQRSTVWXYZ"), { minLength: 25, maxLength: 25 })
  )
  .map(([first, rest]) => `ses_${first}${rest.join("")}` as SessionId) // has the shape

describe("addresses", () => {
  it("a session has one address, and its address has one session", () => {
    fc.assert(
      fc.property(ulid, fc.uuid(), (id, uuid) => {
        const address = sessionAddress("claude-code", id)
        assert.deepStrictEqual(parseSession(address), { id, provider: "claude-code" })
        const chosen = parseSession(`claude-code:/${uuid}`)
        assert.strictEqual(
          chosen === undefined ? "" : sessionAddress("claude-code", chosen.id),
          `claude-code:/${uuid}`
        )
        assert.deepStrictEqual(parseSession(`ahp-session:/${uuid}`)?.id, chosen?.id)
        assert.deepStrictEqual(parseSession(`claude-code:/${id}`), { id, provider: "claude-code" })
      })
    )
  })

  it("a chat has the address of its session", () => {
    fc.assert(
      fc.property(
        ulid,
        fc.option(fc.constant("agt_01K0000000000000000000000A"), { nil: undefined }),
        (id, chatId) => {
          const session = sessionAddress("codex", id)
          assert.deepStrictEqual(parseChat(chatAddress(session, chatId)), {
            session,
            chatId: chatId?.toLowerCase()
          })
        }
      )
    )
  })

  it("a file address names a path without dots of this machine", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc
            .string({ minLength: 1 })
            .filter((name) => !/[/\0]/.test(name) && name !== "." && name !== ".." && name.isWellFormed()),
          { minLength: 1 }
        ),
        (names) => {
          const path = `/${names.join("/")}`
          assert.strictEqual(parseFile(fileAddress(path)), path)
        }
      )
    )
    for (const wrong of [
      "file://host/a",
      "file:///a#b",
      "file:///a?b",
      "file:///a/%00",
      "http://a/",
      "x",
      "file:///%E0%A4%A"
    ])
      assert.isUndefined(parseFile(wrong), wrong)
  })

  it("any text is refused or understood", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        parseSession(text)
        parseChat(text)
        parseFile(text)
        assert.match(providerOf(text), /^[a-z][a-z0-9+.-]*$/)
      })
    )
  })
})

describe("versions", () => {
  it("takes the highest version that only adds to one of the host's", () => {
    assert.strictEqual(chooseVersion(["0.9.0", "0.7.0", "0.6.0"]), "0.9.0")
    assert.strictEqual(chooseVersion(["0.9.0", "1.0.0"]), "1.0.0")
    assert.strictEqual(chooseVersion(["1.1.0", "1.0.0"]), "1.1.0")
    for (const offered of [[], ["0.4.0"], ["2.0.0"], ["0.10.0"], ["x"], ["1"], ["01.0.0.0"]])
      assert.isUndefined(chooseVersion(offered), offered.join())
  })
})

describe("messages", () => {
  it("any text is refused, an answer or a message", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map((params) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "x", params }))
        ),
        (text) => {
          const parsed = parseMessage(text)
          assert.isTrue(
            parsed === undefined || typeof parsed === "string" || typeof parsed.method === "string"
          )
        }
      )
    )
  })

  it("an operation on a part of a file is refused, and not carried out on the whole file", () => {
    const params = { channel: "claude-code:/x/changeset/session", operationId: "accept" }
    const resource = "file:///work/a.txt"
    const range = { start: { line: 2, character: 0 }, end: { line: 5, character: 10 } }
    const decode = (target: object) => decodeParams("invokeChangesetOperation", { ...params, target })
    assert.deepStrictEqual(decode({ kind: "resource", resource })._tag, "Success")
    assert.deepStrictEqual(decode({ kind: "range", resource, range })._tag, "Failure")
  })
})
