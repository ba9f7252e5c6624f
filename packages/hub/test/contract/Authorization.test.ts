/**
 * Every endpoint asked by everyone: with each role in the project, without one, and with a sign-in that is worth nothing. What comes of it
 * is the table of `docs/authorization.md`.
 */
import { errorTable } from "@corral/domain/ErrorTable"
import { type Caller, callers, type EndpointName, refusalOf } from "@corral/domain/HubAuthorization"
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { codeOf, type HubClient } from "../harness/HubClient.ts"
import { HubProcess } from "../harness/HubProcess.ts"
import { requests } from "./AuthorizationRequests.ts"
import { everyone, makeWorld, type World } from "./AuthorizationWorld.ts"

const absent = "00000000000000000000000000"

/** The same request about things that do not exist. */
const nowhere = ({ deviceId, projectId, sessionId, ...rest }: World): World => ({
  ...rest,
  projectId: `${projectId.slice(0, 4)}${absent}` as typeof projectId,
  sessionId: `${sessionId.slice(0, 4)}${absent}` as typeof sessionId,
  deviceId: `${deviceId.slice(0, 4)}${absent}` as typeof deviceId
})

describe("Authorization", { timeout: 60_000 }, () => {
  const hub = new HubProcess()
  let people: ReadonlyMap<Caller, HubClient>
  /** For those who are refused: nothing changes. */
  let still: World

  beforeAll(async () => {
    await hub.start()
    people = await everyone(hub)
    still = await makeWorld(hub, people)
  })
  afterAll(() => hub.remove())

  const ask = (caller: Caller, name: EndpointName, world: World) => {
    const expected = requests[name]
    const client = people.get(caller)
    if (expected === undefined || client === undefined) throw new Error(`${caller} cannot ask ${name}`)
    const { body, method, path } = expected.request(world)
    return client.ask(method, path, body === undefined ? {} : { body })
  }

  for (const [name, expected] of Object.entries(requests) as ReadonlyArray<
    [EndpointName, NonNullable<(typeof requests)[EndpointName]>]
  >) {
    it(`${name} is answered as the table says`, async () => {
      for (const caller of callers) {
        const refusal = refusalOf(name, caller)
        const changes = refusal === undefined && !name.startsWith("public.") && expected.status !== 200
        const answer = await ask(caller, name, changes ? await makeWorld(hub, people) : still)
        const found = [caller, answer.status, answer.status < 400 ? undefined : codeOf(answer)]
        const status = refusal === undefined ? expected.status : errorTable[refusal].status
        assert.deepStrictEqual(found, [caller, status, refusal], answer.text)
      }
    })

    if (refusalOf(name, "no member") === "permission_denied") {
      it(`${name} does not tell what is there from what is not`, async () => {
        const [there, gone] = [
          await ask("no member", name, still),
          await ask("no member", name, nowhere(still))
        ]
        const told = ({ body, status }: typeof there) => ({ ...(body as object), status, requestId: "" })
        assert.deepStrictEqual(told(gone), told(there))
      })
    }
  }
})
