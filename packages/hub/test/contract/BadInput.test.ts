/** Invalid input to every endpoint of the Hub: each gets an error object, none causes a fault, and none is echoed. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { type Caller, endpointAuthority, type EndpointName } from "@corral/domain/hub-api/HubAuthorization"
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { methodsOf } from "@corral/service/http/Unanswered"
import { message, sendRaw } from "@corral/testing/http/RawRequest"
import { gatewayEnv, gatewayOf } from "@corral/testing/hub/Chats"
import { type Answer, assertAnswer, codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { type Expected, requests } from "./AuthorizationRequests.ts"
import { everyone, fieldsOf, makeWorld, type World } from "./AuthorizationWorld.ts"

/** Part of all input here, and of no response. */
const MARK = "Zq7xEcho"

const methodsAt = methodsOf(HubApi)

const hostile: ReadonlyArray<readonly [string, unknown]> = [
  ["a text of 10,000 characters", MARK.repeat(1_250)],
  ["SQL", `${MARK}'; DROP TABLE projects; --`],
  ["a zero byte", `${MARK}\u0000`],
  ["half a character", `${MARK}\ud800`],
  ["line ends", `${MARK}\r\nSet-Cookie: a=b`],
  ["a number", 7],
  ["null", null],
  ["an array", [MARK]],
  ["an object", { [MARK]: MARK }],
  ["a prototype", JSON.parse(`{"__proto__":{"${MARK}":true}}`)]
]

describe("Bad input", () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  let owner: HubClient
  let people: ReadonlyMap<Caller, HubClient>
  let world: World

  beforeAll(async () => {
    await hub.start()
    people = await everyone(hub)
    const found = people.get("owner")
    if (found === undefined) throw new Error("there is no owner")
    owner = found
    world = await makeWorld(hub, people)
  })
  afterAll(() => hub.remove())

  /** Client that may call an endpoint. */
  const callerOf = (name: EndpointName): HubClient =>
    endpointAuthority[name] === "gateway" ? gatewayOf(hub) : owner

  const assertRefusal = (what: string, answer: Answer): void => {
    assert.isAtLeast(answer.status, 400, what)
    assert.isBelow(answer.status, 500, `${what}: ${answer.text}`)
    assert.notInclude(answer.text, MARK, what)
  }

  const named = (Object.entries(requests) as ReadonlyArray<[EndpointName, Expected]>).map(
    ([name, { request }]) => ({ name, request: (at: World) => request(at) })
  )
  /** Their shape does not depend on the world. */
  const writes = named.filter(({ request }) => typeof request(sample).body === "object")
  const lists = named.filter(({ name }) =>
    /\.(list|members|workspaces|messages|agents|inventory|targets|approvals|ofSession)$/.test(name)
  )

  it.each(writes)("$name: each field with each invalid value", async ({ name, request }) => {
    const caller = callerOf(name)
    const { body, method, path } = request(world)
    for (const field of Object.keys(body as object)) {
      for (const [what, value] of hostile) {
        const answer = await caller.ask(method, path, { body: { ...(body as object), [field]: value } })
        // What fits is done, or goes to a target that is not there.
        if (answer.status < 400 || codeOf(answer) === "target_offline") continue
        assertRefusal(`${field} with ${what}`, answer)
      }
    }
    // What was taken may have changed this world.
    if (fieldsOf(request, world).size > 0) world = await makeWorld(hub, people)
  })

  it.each(writes)("$name: a malformed body", async ({ name, request }) => {
    const caller = callerOf(name)
    const { method, path } = request(world)
    for (const body of [`{"${MARK}`, `[${MARK}]`, '"text"', "7", "null", "[]", "{}"]) {
      const answer = await caller.ask(method, path, { body })
      // What has no required field is done, or goes to a target that is not there.
      if (body === "{}" && (answer.status < 400 || codeOf(answer) === "target_offline")) continue
      assertRefusal(body, answer)
      assert.strictEqual(codeOf(answer), "schema_validation_failed", body)
    }
    const text = await caller.ask(method, path, { body: "{}", headers: { "content-type": "text/plain" } })
    assert.deepStrictEqual([text.status, codeOf(text)], [415, "unsupported_media_type"])
    const large = await caller.ask(method, path, { body: JSON.stringify({ text: "x".repeat(1_100_000) }) })
    assert.deepStrictEqual([large.status, codeOf(large)], [413, "payload_too_large"])
  })

  it.each(lists)("$name: an invalid cursor or limit", async ({ request }) => {
    const { path } = request(world)
    const wrong = ["cursor=", `cursor=${MARK}`, "cursor=%00", "cursor=a'b", `cursor=${"A".repeat(2_000)}`]
    const limits = [
      "limit=0",
      "limit=201",
      "limit=-1",
      "limit=1.5",
      "limit=1e2x",
      "limit=%00",
      "limit=NaN",
      "limit="
    ]
    for (const query of [...wrong, ...limits]) {
      const answer = await owner.ask("GET", `${path}${path.includes("?") ? "&" : "?"}${query}`)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"], query)
      assertRefusal(query, answer)
    }
  })

  it.each(named)("$name: another method, and a longer path", async ({ name, request }) => {
    const [path = ""] = request(world).path.split("?", 1)
    const methods = methodsAt(path)
    const absent = ["PUT", "PATCH", "DELETE"].find((method) => !methods.includes(method)) ?? ""
    const other = await callerOf(name).ask(absent, path)
    assert.deepStrictEqual([other.status, codeOf(other)], [405, "method_not_allowed"])
    assert.isNotNull(other.headers.get("allow"))
    const longer = await owner.ask("GET", `${path}/${MARK}/${MARK}`)
    assertRefusal("a longer path", longer)
  })

  it("rejects malformed ids before any lookup", async () => {
    for (const id of [MARK, "ses_'--", "%00", "..%2f..", "prj_" + "Z".repeat(26), "a".repeat(90)]) {
      for (const path of [`/client/projects/${id}`, `/client/sessions/${id}`, `/client/devices/${id}`]) {
        const answer = await owner.ask("GET", path)
        assertRefusal(path, answer)
        assert.strictEqual(answer.status, 422, path)
      }
    }
  })

  it("rejects or replaces bytes that are not UTF-8, and stores none", async () => {
    const port = Number(new URL(hub.url).port)
    const body = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff, 0xfe, 0xc0]), Buffer.from('"}')])
    const head = [
      "POST /client/projects HTTP/1.1",
      `Host: 127.0.0.1:${port}`,
      `Authorization: Bearer ${owner.token}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`
    ]
    const answer = await sendRaw(port, [message(head), body.toString("latin1")])
    assertAnswer("POST", "/client/projects", answer)
    assert.isBelow(answer.status, 500)
  })

  it("replaces a malformed request id, and rejects a malformed idempotency key", async () => {
    for (const id of ["a b", "a\tb", "<script>", "x".repeat(129)]) {
      const answer = await owner.ask("GET", "/client/projects", { headers: { "x-request-id": id } })
      assert.match(answer.headers.get("x-request-id") ?? "", /^req_/)
    }
    const keyed = await owner.ask("POST", "/client/projects", {
      body: { name: "x" },
      headers: { "idempotency-key": "k".repeat(256) }
    })
    assert.deepStrictEqual([keyed.status, codeOf(keyed)], [422, "schema_validation_failed"])
  })

  it("logs refused requests only", () => {
    // Requests refused with 401 or 429 are logged for operators.
    const lines = hub.stderr.split("\n").filter((line) => line !== "")
    const others = lines.filter((line) => !/ level=WARN fiber=\S+ message="refused request" /.test(line))
    assert.deepStrictEqual(others, [])
  })
})

/** Only the shape matters. */
const sample = new Proxy({}, { get: () => "x" }) as World
