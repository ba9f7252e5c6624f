import { HubApi } from "@corral/domain/hub-api/HubApi"
import { MAX_MESSAGE_TEXT } from "@corral/domain/session/Message"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import type { ClientFailure } from "../../src/effect/ClientFailure.ts"
import { effectCalls } from "../../src/effect/EffectCalls.ts"

type AnyRequest = readonly [group: string, name: string, request: object]
type AnyCalls = Readonly<
  Record<string, Readonly<Record<string, (request: object) => Effect.Effect<object, ClientFailure>>>>
>

const sessionId = `ses_${"0".repeat(26)}`

/** Text that the contract refuses in a message. */
const invalidTexts = fc.oneof(
  fc.constant(""),
  fc.nat(1_000).map((more) => "x".repeat(MAX_MESSAGE_TEXT + 1 + more)),
  fc.tuple(fc.string(), fc.string()).map((around) => around.join("\u0000"))
)

const invalidRequests: fc.Arbitrary<AnyRequest> = fc.oneof(
  invalidTexts.map(
    (text) => ["sessions", "addMessage", { params: { id: sessionId }, payload: { text } }] as const
  ),
  fc
    .integer()
    .filter((limit) => limit < 1 || limit > 200)
    .map((limit) => ["projects", "list", { query: { limit } }] as const),
  fc
    .string()
    .filter((id) => !id.startsWith("ses_"))
    .map((id) => ["sessions", "get", { params: { id } }] as const),
  fc.constant(["projects", "create", { payload: {} }] as const)
)

/** Failure of a call whose server would answer with that body, and the requests that it received. */
const failureWith = async (body: string, [group, name, request]: AnyRequest) => {
  const requests: Array<string> = []
  const send: typeof fetch = async (input) => {
    requests.push(String(input))
    return new Response(body, { status: 200, headers: { "content-type": "application/json" } })
  }
  const typed = await Effect.runPromise(
    effectCalls(HubApi, { url: "http://hub.example", fetch: send }, (failure) => failure)
  )
  // Requests that the contract refuses do not have its types.
  const calls = typed as unknown as AnyCalls
  const call = calls[group]?.[name]?.(request) ?? Effect.die("no such call")
  return { failure: await Effect.runPromise(Effect.flip(call)), requests }
}

describe("effectCalls", () => {
  it("reports a request that does not fit the contract as the caller's error, and does not send it", () =>
    fc.assert(
      fc.asyncProperty(invalidRequests, async (request) => {
        const { failure, requests } = await failureWith("{}", request)
        assert.deepStrictEqual(
          [failure.code, failure.status, requests],
          ["schema_validation_failed", undefined, []]
        )
        assert.isNotEmpty(failure.error.details["issues"])
        assert.match(failure.message, /^The request is not valid and was not sent\./)
        assert.isFalse(failure.error.isTransient)
      })
    ))

  it("reports a response that does not fit the contract as one of another version", () =>
    fc.assert(
      fc.asyncProperty(fc.json(), async (body) => {
        const { failure } = await failureWith(body, ["sessions", "get", { params: { id: sessionId } }])
        assert.strictEqual(failure.code, "invalid_response")
      })
    ))
})
