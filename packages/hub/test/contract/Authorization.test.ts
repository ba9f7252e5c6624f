/** Every endpoint called by every kind of caller. The results are the table of `docs/authorization.md`. */
import { errorTable } from "@corral/domain/errors/ErrorTable"
import { type Caller, callers, type EndpointName, refusalOf } from "@corral/domain/hub-api/HubAuthorization"
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { gatewayEnv } from "@corral/testing/hub/Chats"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { type Expected, requests } from "./AuthorizationRequests.ts"
import { everyone, fieldsOf, makeWorld, renewedWorld, type World } from "./AuthorizationWorld.ts"

const absent = "00000000000000000000000000"

/** The same request about things that do not exist. */
const nowhere = ({
  approvalId,
  attachmentId,
  bindingId,
  changeSetId,
  deviceId,
  inputId,
  projectId,
  runId,
  sessionId,
  taskId,
  ...rest
}: World): World => ({
  ...rest,
  bindingId: `${bindingId.slice(0, 4)}${absent}` as typeof bindingId,
  projectId: `${projectId.slice(0, 4)}${absent}` as typeof projectId,
  sessionId: `${sessionId.slice(0, 4)}${absent}` as typeof sessionId,
  deviceId: `${deviceId.slice(0, 4)}${absent}` as typeof deviceId,
  taskId: `${taskId.slice(0, 4)}${absent}` as typeof taskId,
  runId: `${runId.slice(0, 4)}${absent}` as typeof runId,
  attachmentId: `${attachmentId.slice(0, 4)}${absent}` as typeof attachmentId,
  approvalId: `${approvalId.slice(0, 4)}${absent}` as typeof approvalId,
  inputId: `${inputId.slice(0, 4)}${absent}` as typeof inputId,
  changeSetId: `${changeSetId.slice(0, 4)}${absent}` as typeof changeSetId
})

const endsSignIn: ReadonlySet<EndpointName> = new Set(["auth.refresh", "auth.logout"])

describe("Authorization", () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  let people: ReadonlyMap<Caller, HubClient>
  /** World for refused requests, which change nothing. */
  let still: World

  beforeAll(async () => {
    await hub.start()
    people = await everyone(hub)
    still = await makeWorld(hub, people)
  })
  afterAll(() => hub.remove())

  const ask = async (caller: Caller, name: EndpointName, world: World) => {
    const client = people.get(caller)
    if (client === undefined) throw new Error(`there is no ${caller}`)
    // These requests end the sign-in of their caller.
    const sender =
      refusalOf(name, caller) === undefined && endsSignIn.has(name) ? await hub.signedIn(caller) : client
    const { method, path, ...more } = requests[name].request(world)
    return sender.ask(method, path, more)
  }

  for (const [name, expected] of Object.entries(requests) as ReadonlyArray<[EndpointName, Expected]>) {
    it.each(callers)(`${name} is answered as the table says, called by %s`, async (caller) => {
      const fields = fieldsOf(expected.request, still)
      const refusal = refusalOf(name, caller)
      const changes =
        refusal === undefined && expected.status > 200 && expected.status < 300 && fields.size > 0
      const answer = await ask(
        caller,
        name,
        changes ? await renewedWorld(hub, people, still, fields, caller) : still
      )
      const found = [answer.status, refusal === undefined ? undefined : codeOf(answer)]
      const status = refusal === undefined ? expected.status : errorTable[refusal].status
      assert.deepStrictEqual(found, [status, refusal], answer.text)
    })

    if (refusalOf(name, "not a member") === "permission_denied") {
      it(`${name} gives the same answer for missing and forbidden resources`, async () => {
        const [there, removed] = [
          await ask("not a member", name, still),
          await ask("not a member", name, nowhere(still))
        ]
        const comparable = ({ body, status }: typeof there) => ({
          ...(body as object),
          status,
          requestId: ""
        })
        assert.deepStrictEqual(comparable(removed), comparable(there))
      })
    }
  }
})
