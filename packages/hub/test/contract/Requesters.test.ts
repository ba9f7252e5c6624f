import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { CommandOutcome, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { TargetOffline, Conflict } from "@corral/domain/errors/Failures"
import type { ApprovalId, RunId, UserId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { effort } from "@corral/testing/time/Effort"
import { RunRequesters } from "../../src/run/RunRequesters.ts"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { actingAs, confirmedLink, gatewayEnv, gatewayOf, newAccount } from "@corral/testing/hub/Chats"
import { codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { LinkedEdge, taken } from "../harness/LinkedEdge.ts"
import {
  approvalRequested,
  runCompleted,
  createdRun,
  createRun,
  linesOf,
  Mirror,
  newId,
  runStarted
} from "@corral/testing/hub/Mirror"
import { deviceOf, makeTask, untilTask } from "../link/World.ts"
import { makeProject } from "@corral/testing/hub/People"

const PEOPLE = 4
/** How words reach a run: with a sign-in, an API key, or from a chat; taken by the Edge or refused by it. */
const ways = ["sign-in", "API key", "chat"] as const
interface Sent {
  readonly person: number
  readonly way: (typeof ways)[number]
  readonly taken: boolean
}

describe("Requesters of a run", () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  const people: Array<HubClient> = []
  const keys: Array<HubClient> = []
  const accounts: Array<ChatAccount> = []
  beforeAll(async () => {
    await hub.start()
    for (let i = 0; i < PEOPLE; i++) {
      const person = await hub.signedIn(`person ${i}`)
      const wanted = { name: "ci", scopes: ["read", "write"] as const, expiresInDays: 1 }
      const { token } = await hub.people.act(
        Effect.flatMap(ApiKeyStore, (keys) => keys.create(person.userId as UserId, wanted))
      )
      const account = newAccount()
      const number = await confirmedLink(hub, account, person.userId)
      await gatewayOf(hub).ask("POST", "/integrations/bindings", { body: { ...account, number } })
      people.push(person)
      keys.push(new HubClient(hub.url, token, person.userId))
      accounts.push(account)
    }
  })
  afterAll(() => hub.remove())

  const at = <A>(list: ReadonlyArray<A>, index: number): A => {
    const found = list[index]
    if (found === undefined) throw new Error(`there is no ${index}`)
    return found
  }

  const send = (runId: RunId, { person, way }: Sent) => {
    const body = { text: "More" }
    const path = `/client/runs/${runId}/input`
    if (way === "chat") return gatewayOf(hub).ask("POST", path, { body, ...actingAs(at(accounts, person)) })
    return at(way === "API key" ? keys : people, person).ask("POST", path, { body })
  }

  let takesInput = true
  const answers = (command: EdgeCommand): CommandOutcome | undefined => {
    if (command.name === "StartRun") return taken(command)
    const refused = { code: command.name === "SendInput" ? "conflict" : "overloaded", message: "No." }
    const run = { ...createRun, id: (command.payload as { readonly runId: RunId }).runId, state: "running" }
    const at = "2026-11-21T12:00:00.000Z"
    const value = { ...run, timeoutMs: 1, lastSeq: 1, pendingApprovals: [], createdAt: at, updatedAt: at }
    return command.name === "SendInput" && takesInput
      ? { _tag: "Done", value }
      : { _tag: "Refused", error: refused }
  }

  const teamOf = async () => {
    const owner = at(people, 0)
    const { id: projectId } = await makeProject(
      owner,
      "private",
      people.slice(1).map((person) => [person, "member"] as const)
    )
    await owner.ask("PATCH", `/client/projects/${projectId}`, { body: { approvals: { ownRequests: false } } })
    const device = await deviceOf(owner, "edge", projectId)
    const edge = await LinkedEdge.link(hub.url, { ...device, answers })
    await new Mirror(hub, device.deviceId).link(projectId)
    return { projectId, edge, ...device }
  }

  const sent = fc.record({ person: fc.nat(PEOPLE - 1), way: fc.constantFrom(...ways), taken: fc.boolean() })

  it("are all users who sent a message to it or to a run that it resumes, by any client", () =>
    fc.assert(
      fc.asyncProperty(
        fc.nat(PEOPLE - 1),
        fc.nat(PEOPLE - 1),
        fc.array(sent, { maxLength: 3 }),
        fc.array(sent, { maxLength: 3 }),
        async (first, second, before, after) => {
          const team = await teamOf()
          const begin = async (author: number, more: object, inputs: ReadonlyArray<Sent>) => {
            const task = await makeTask({ ...team, client: at(people, author) }, { ...more })
            assert.strictEqual(task.status, 201, task.text)
            const { runId } = await untilTask(
              { ...team, client: at(people, author) },
              task.body.id,
              "dispatched"
            )
            assert.isDefined(runId)
            await team.edge.push(runId, 1, linesOf(runId, 1, [createdRun, runStarted]))
            for (const input of inputs) {
              takesInput = input.taken
              const answer = await send(runId, input)
              assert.strictEqual(answer.status, input.taken ? 200 : 409, answer.text)
            }
            return runId
          }
          const authors = (inputs: ReadonlyArray<Sent>) =>
            inputs.filter(({ taken }) => taken).map(({ person }) => person)
          const earlier = await begin(first, {}, before)
          await team.edge.push(earlier, 3, linesOf(earlier, 3, [runCompleted]))
          const runId = await begin(second, { resume: earlier }, after)
          const approvalId = newId<ApprovalId>("apr")
          await team.edge.push(runId, 3, linesOf(runId, 3, [approvalRequested(approvalId)]))
          const requesters = new Set([first, second, ...authors(before), ...authors(after)])
          for (const [i, person] of people.entries()) {
            const answer = await person.ask("POST", `/client/approvals/${approvalId}/decide`, {
              body: { decision: "allow" }
            })
            assert.strictEqual(
              codeOf(answer),
              requesters.has(i) ? "permission_denied" : "overloaded",
              `person ${i}`
            )
          }
          await team.edge.cut()
        }
      ),
      { numRuns: 8 * effort }
    ))

  it("stay requesters when delivery of their message is unknown, but not when it failed", async () => {
    const mirror = new Mirror(hub)
    const runId = await mirror.run(await mirror.project(people[0]?.userId), createdRun)
    const userId = people[1]?.userId as UserId
    const unknown = new TargetOffline({ details: { targetId: mirror.targetId, outcome: "unknown" } })
    const isUnknown = (error: unknown) => error === unknown
    const sending = (failure: Conflict | TargetOffline) =>
      hub.people.act(
        Effect.flatMap(RunRequesters, (requesters) =>
          Effect.exit(requesters.sendAs(runId, userId, Effect.fail(failure), isUnknown))
        )
      )
    const count = async () =>
      (
        await hub.people.act(
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`SELECT 1 FROM run_requesters WHERE run_id = ${runId}`
          )
        )
      ).length
    await sending(new Conflict())
    assert.strictEqual(await count(), 0)
    await sending(unknown)
    await sending(new Conflict())
    assert.strictEqual(await count(), 1)
  })
})
