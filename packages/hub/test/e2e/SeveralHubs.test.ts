import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  type CommandOutcome,
  type CommandPayload,
  type EdgeCommand,
  edgeCommands
} from "@corral/domain/link/EdgeCommand"
import type { DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import type { Approval } from "@corral/domain/approval/Approval"
import type { ApprovalId, RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { type Answer, codeOf } from "@corral/testing/http/Contract"
import { HubClient } from "@corral/testing/hub/HubClient"
import { HubProcess } from "@corral/testing/hub/HubProcess"
import { Result } from "effect"
import { ChangeFollower } from "../harness/ChangeFollower.ts"
import { LinkedEdge, offer, taken } from "../harness/LinkedEdge.ts"
import {
  approvalRequested,
  changeDecisionOf,
  changeSetOf,
  createdRun,
  linesOf,
  Mirror,
  newId,
  runCompleted,
  runStarted
} from "@corral/testing/hub/Mirror"
import { makeTask, stateOf, until, untilTask, type World, worldOf } from "../link/World.ts"

describe("Several Hubs on one database", () => {
  const a = new HubProcess()
  const b = new HubProcess()
  beforeAll(async () => {
    await a.start()
    b.databaseUrl = a.databaseUrl
    await b.start()
  })
  afterAll(async () => {
    await b.remove()
    await a.remove()
  })

  const at = (hub: HubProcess, { client }: World): HubClient =>
    new HubClient(hub.url, client.token, client.userId)
  const cancelled = (command: EdgeCommand, runId: RunId): CommandOutcome | undefined => {
    const start = taken({
      ...command,
      name: "StartRun",
      payload: { runId, create }
    } as unknown as EdgeCommand)
    return start?._tag === "Done"
      ? { _tag: "Done", value: { ...(start.value as Run), state: "cancelled" } }
      : undefined
  }
  const create = { workspace: "demo", agentId: "scripted", input: { text: "x" }, mode: "ask" }

  it("serve every client, whichever Hub has the link", async () => {
    const world = await worldOf(a)
    const edge = await LinkedEdge.link(b.url, world)
    assert.strictEqual(await stateOf(world), "online")
    const { body } = await makeTask(world)
    const { runId } = await untilTask(world, body.id, "dispatched")
    assert.isDefined(runId)
    edge.answers = (command) => cancelled(command, runId)
    const answer = await world.client.ask<Run>("POST", `/client/runs/${runId}/cancel`)
    assert.deepStrictEqual([answer.status, answer.body.state], [200, "cancelled"], answer.text)
    await edge.leave()
  })

  it("fence links of the other Hub like their own", async () => {
    const world = await worldOf(a)
    const older = await LinkedEdge.link(a.url, world)
    const newer = await LinkedEdge.link(b.url, world)
    assert.strictEqual((await older.closed).code, 4409)
    await newer.leave()
    await until("the device offline", async () => (await stateOf(world)) === "offline")
  })

  it("start a waiting task once when both learn that the device is online", async () => {
    const world = await worldOf(a)
    const created = await Promise.all(
      Array.from({ length: 8 }, () => makeTask(world, { onOffline: "queue" }))
    )
    const edge = await LinkedEdge.link(b.url, world)
    const runs = await Promise.all(created.map(({ body }) => untilTask(world, body.id, "dispatched")))
    assert.deepStrictEqual(
      new Set(edge.commands.map(({ commandId }) => commandId)),
      new Set(runs.map(({ runId }) => `start.${runId}`))
    )
    assert.lengthOf(edge.commands, 8)
    await edge.leave()
  })

  it("accept one of a hundred concurrent decisions on both", async () => {
    const world = await worldOf(a)
    const mirror = new Mirror(a, world.deviceId)
    const runId = await mirror.run(world.projectId, createdRun, runStarted)
    const approvalId = newId<ApprovalId>("apr")
    await mirror.append(runId, 3, approvalRequested(approvalId))
    let first: Approval | undefined
    let resolutions = 0
    const answers = (command: EdgeCommand): CommandOutcome => {
      // The only name that comes here.
      const { by, decision } = command.payload as CommandPayload<"DecideApproval">
      const state = decision === "allow" ? "approved" : "denied"
      if (first === undefined) {
        resolutions++
        first = { ...approval, state, decidedBy: by }
      }
      return first.state === state
        ? { _tag: "Done", value: first }
        : {
            _tag: "Refused",
            error: {
              code: "approval_already_resolved",
              message: "x",
              details: { approvalId, state: first.state }
            }
          }
    }
    const approval = {
      id: approvalId,
      runId,
      agentId: "scripted",
      workspace: "demo",
      state: "pending",
      request: { action: "write", risk: "low", title: "Write", editable: false, scopes: ["once"] },
      requestedAt: "2026-11-21T12:00:00.000Z",
      expiresAt: "2026-11-21T20:00:00.000Z"
    } as unknown as Approval
    const edge = await LinkedEdge.link(a.url, { ...world, answers })
    // A Hub without a free connection says so within two seconds, and decides nothing.
    const decide = async (i: number): Promise<Answer<Approval>> => {
      const answer = await at(i % 2 === 0 ? a : b, world).ask<Approval>(
        "POST",
        `/client/approvals/${approvalId}/decide`,
        { body: { decision: i % 3 === 0 ? "deny" : "allow" } }
      )
      return codeOf(answer) === "overloaded" ? decide(i) : answer
    }
    const decided = await Promise.all(Array.from({ length: 100 }, (_, i) => decide(i)))
    assert.strictEqual(resolutions, 1)
    const wins = decided.filter(({ status }) => status === 200)
    assert.isAbove(wins.length, 0)
    assert.deepStrictEqual(new Set(wins.map(({ body }) => body.state)), new Set([first?.state]))
    assert.deepStrictEqual(new Set(decided.map(({ status }) => status)), new Set([200, 409]))
    await edge.leave()
  })

  it("mirror change sets for each other, and accept one of many decisions about a hunk", async () => {
    const world = await worldOf(a)
    const mirror = new Mirror(a, world.deviceId)
    const runId = await mirror.run(world.projectId, createdRun, runStarted, runCompleted)
    const set = changeSetOf(runId)
    const hunks = ["1".repeat(32)]
    let decisions = 0
    const answers = (command: EdgeCommand): CommandOutcome => {
      if (decisions > 0) return { _tag: "Refused", error: { code: "changes_outdated", message: "Outdated." } }
      decisions++
      // The only name that comes here.
      const { by, kind } = command.payload as CommandPayload<"DecideChanges">
      return { _tag: "Done", value: { decision: changeDecisionOf(set, { by, kind }), set } }
    }
    const edge = await LinkedEdge.link(b.url, { ...world, answers })
    await edge.heartbeat({ ...offer, commands: Object.keys(edgeCommands) })
    const follower = await ChangeFollower.open(world.client)
    assert.deepStrictEqual(await edge.pushChanges([set]), Result.succeed([{ id: set.id }]))
    await follower.hint({ kind: "changes", id: set.id, state: "open" })
    const decide = async (i: number): Promise<Answer<DecidedChanges>> => {
      const answer = await at(i % 2 === 0 ? a : b, world).ask<DecidedChanges>(
        "POST",
        `/client/runs/${runId}/changes/${i % 3 === 0 ? "reject" : "accept"}`,
        { body: { parts: { hunks } } }
      )
      return codeOf(answer) === "overloaded" ? decide(i) : answer
    }
    const decided = await Promise.all(Array.from({ length: 50 }, (_, i) => decide(i)))
    assert.lengthOf(
      decided.filter(({ status }) => status === 200),
      1
    )
    assert.deepStrictEqual(
      new Set(decided.filter(({ status }) => status !== 200).map(codeOf)),
      new Set(["changes_outdated"])
    )
    // The other Hub fences a push over the link that a newer one has replaced.
    const newer = await LinkedEdge.link(a.url, { ...world, answers })
    const stale = await edge.pushChanges([{ ...set, state: "decided" }])
    assert.isTrue(Result.isFailure(stale))
    assert.deepStrictEqual(await newer.pushChanges([set]), Result.succeed([{ id: set.id }]))
    const listed = await world.client.ask<{ readonly items: ReadonlyArray<{ readonly state: string }> }>(
      "GET",
      `/client/changes?projectId=${world.projectId}`
    )
    assert.deepStrictEqual(
      listed.body.items.map(({ state }) => state),
      ["open"]
    )
    await follower.close()
    await newer.leave()
  })

  it("continue commands that a killed Hub had sent", async () => {
    const world = await worldOf(a)
    const mirror = new Mirror(a, world.deviceId)
    const runId = await mirror.run(world.projectId, createdRun, runStarted)
    const edge = await LinkedEdge.link(b.url, { ...world, answers: () => undefined })
    const waiting = world.client.ask<Run>("POST", `/client/runs/${runId}/cancel`)
    await edge.count(1)
    await b.end("SIGKILL")
    await edge.closed
    const back = await LinkedEdge.link(a.url, {
      ...world,
      instanceId: edge.instanceId,
      answers: (command) => cancelled(command, runId)
    })
    const answer = await waiting
    assert.deepStrictEqual([answer.status, answer.body.state], [200, "cancelled"], answer.text)
    assert.strictEqual(back.commands[0]?.commandId, edge.commands[0]?.commandId)
    assert.deepStrictEqual(await back.push(runId, 3, linesOf(runId, 3, [runStarted])).then(() => true), true)
    await b.start()
  })

  it("dispatch a task whose Hub was killed during its start", async () => {
    const world = await worldOf(a)
    const edge = await LinkedEdge.link(a.url, { ...world, answers: () => undefined })
    const { body } = await new HubClient(b.url, world.client.token, world.client.userId).ask<{ id: string }>(
      "POST",
      "/web/agent-tasks",
      { body: { ...create, projectId: world.projectId, targetId: world.deviceId } }
    )
    const [start] = await edge.count(1)
    await b.end("SIGKILL")
    assert.isDefined(start)
    const outcome = taken(start)
    assert.isDefined(outcome)
    await edge.done(start, outcome)
    const task = await untilTask(world, body.id, "dispatched")
    assert.strictEqual(`start.${task.runId}`, start.commandId)
    await b.start()
  })
})
