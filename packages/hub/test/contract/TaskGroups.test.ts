/** Candidates for one task, over a real Hub and a real link. The Edge of the test takes starts and answers for their change sets. */
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { ChangedFile } from "@corral/domain/edge-api/ChangeSet"
import type { GroupComparison, GroupOutcome, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type {
  ChangedFileId,
  ChangeSetId,
  RunId,
  TaskGroupId,
  TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import {
  CANDIDATES_FEATURE,
  type CommandOutcome,
  type EdgeCommand,
  edgeCommands,
  LAYERS_FEATURE
} from "@corral/domain/link/EdgeCommand"
import type { Project } from "@corral/domain/project/Project"
import { draft } from "@corral/domain/run/RunEvent"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import type { Task } from "@corral/domain/task/Task"
import { codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { changeSetOf, createdRun, createRun, linesOf, Mirror, runCompleted } from "@corral/testing/hub/Mirror"
import { makeSession } from "@corral/testing/hub/People"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { settleClosedCandidates } from "../../src/task/ClosedCandidates.ts"
import { LinkedEdge, offer, taken } from "../harness/LinkedEdge.ts"
import { makeTask, until, type World, worldOf } from "../link/World.ts"

interface Page<A> {
  readonly items: ReadonlyArray<A>
}

const models = ["small", "large", "other"] as const
const candidates = models.map((model) => ({ agentId: "scripted", model }))

const file = (digit: string, path: string, result: string): ChangedFile => ({
  id: digit.repeat(32) as ChangedFileId,
  path,
  status: "modified",
  binary: false,
  additions: 1,
  deletions: 1,
  hunks: 1,
  version: "1".repeat(32),
  result
})

const refused = (code: string): CommandOutcome => ({ _tag: "Refused", error: { code, message: "Refused." } })

/** Answers of an Edge with change sets of these files by run. */
class Answers {
  readonly files = new Map<RunId, ReadonlyArray<ChangedFile>>()
  readonly of = (command: EdgeCommand): CommandOutcome | undefined => {
    switch (command.name) {
      case "CancelRun":
      case "PauseRun":
      case "ResumeRun":
        return this.run(command.payload.runId)
      case "ReadChanges": {
        const { runId } = command.payload
        const items = this.files.get(runId)
        return items === undefined
          ? refused("not_found")
          : { _tag: "Done", value: { set: changeSetOf(runId), items, next: null } }
      }
      case "DiscardChanges":
        return { _tag: "Done", value: { removed: true } }
      default: {
        const outcome = taken(command)
        if (command.name === "StartRun" && outcome?._tag === "Done")
          this.runs.set(command.payload.runId, outcome.value)
        return outcome
      }
    }
  }
  private readonly runs = new Map<RunId, unknown>()

  private run(runId: RunId): CommandOutcome {
    const value = this.runs.get(runId)
    return value === undefined ? refused("not_found") : { _tag: "Done", value }
  }
}

describe("/client/task-groups", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const able = { ...offer, commands: [...Object.keys(edgeCommands), LAYERS_FEATURE, CANDIDATES_FEATURE] }

  const world = async (at = hub) => {
    const found = await worldOf(at)
    const answers = new Answers()
    const edge = await LinkedEdge.link(at.url, { ...found, answers: answers.of })
    await edge.heartbeat(able)
    return { ...found, answers, edge }
  }

  const groupOf = async (client: HubClient, id: TaskGroupId | undefined) => {
    assert.isDefined(id)
    const { body, status, text } = await client.ask<TaskGroup>("GET", `/client/task-groups/${id}`)
    assert.strictEqual(status, 200, text)
    return body
  }

  /** A group whose runs the Edge has. */
  const started = async (
    found: World & { readonly edge: LinkedEdge },
    more: Record<string, unknown> = {}
  ) => {
    const created = await makeTask(found, { candidates, ...more })
    assert.strictEqual(created.status, 201, created.text)
    let group = await groupOf(found.client, created.body.groupId)
    await until("the candidates dispatched", async () => {
      group = await groupOf(found.client, group.id)
      return group.candidates.every(({ task }) => task.state === "dispatched")
    })
    const runIds = group.candidates.flatMap(({ run }) => run?.id ?? [])
    assert.lengthOf(runIds, group.candidates.length)
    return { first: created.body, group, runIds }
  }

  /** The Edge reports that the run has ended with open changes. */
  const ended = async (edge: LinkedEdge, runId: RunId) => {
    const conversing = draft("run.started", { runtimeSessionId: `conversation of ${runId}` })
    await edge.push(runId, 1, linesOf(runId, 1, [createdRun, conversing, runCompleted]))
    const set = changeSetOf(runId)
    await edge.pushChanges([set])
    return set
  }

  const continueWith = (
    client: HubClient,
    { id }: TaskGroup,
    taskId: TaskId | undefined,
    headers: Readonly<Record<string, string>> = {}
  ) => client.ask<GroupOutcome>("POST", `/client/task-groups/${id}/continue`, { body: { taskId }, headers })

  const starts = ({ commands }: LinkedEdge) =>
    commands.flatMap((command) => (command.name === "StartRun" ? [command.payload] : []))

  it("gives each candidate an agent, a message and a run of the group, in a new session", async () => {
    const found = await world()
    const { first, group } = await started(found, { budget: { wallMs: 60_000 } })
    const { client, edge } = found
    assert.strictEqual(first.id, group.candidates[0]?.task.id)
    assert.deepStrictEqual(
      group.candidates.map(({ label, task }) => [label, task.model, task.groupId]),
      models.map((model) => [`Scripted (${model})`, model, group.id])
    )
    assert.deepInclude<object>(group, {
      isolation: "overlay",
      workspace: "demo",
      input: createRun.input,
      createdBy: client.userId
    })
    for (const [index, { create }] of starts(edge).entries())
      assert.deepInclude<object>(create, {
        groupId: group.id,
        isolation: "overlay",
        model: models[index],
        budget: { wallMs: 60_000 },
        sessionId: group.sessionId
      })
    const session = (await client.ask<Session>("GET", `/client/sessions/${group.sessionId}`)).body
    const [agent] = session.agents
    assert.deepStrictEqual(
      session.agents.map(({ groupId, label, model }) => [groupId, label, model]),
      models.map((model) => [group.id, `Scripted (${model})`, model])
    )
    assert.strictEqual(session.defaultAgentInstanceId, agent?.id)
    assert.strictEqual(session.title, "Say hello")
    const messages = await client.ask<Page<Message>>("GET", `/client/sessions/${group.sessionId}/messages`)
    assert.deepStrictEqual(
      messages.body.items.map(({ groupId, text }) => [groupId, text]),
      models.map(() => [group.id, "Say hello"])
    )
  })

  it("makes a whole group once per key", async () => {
    const found = await world()
    const headers = { "idempotency-key": "group-1" }
    const [one, two] = [
      await makeTask(found, { candidates }, headers),
      await makeTask(found, { candidates }, headers)
    ]
    assert.deepStrictEqual([two.status, two.body], [201, one.body])
    assert.strictEqual(two.headers.get("idempotency-replayed"), "true")
    const { body } = await found.client.ask<Page<Task>>("GET", `/client/tasks?projectId=${found.projectId}`)
    assert.lengthOf(body.items, models.length)
  })

  it.each<readonly [string, string, Record<string, unknown>]>([
    ["one candidate", "candidates", { candidates: candidates.slice(0, 1) }],
    [
      "six candidates",
      "candidates",
      { candidates: Array.from({ length: 6 }, (_, i) => ({ agentId: "scripted", model: `m${i}` })) }
    ],
    ["equal candidates", "candidates", { candidates: [candidates[0], { ...candidates[0], mode: "ask" }] }],
    ["another first agent", "agentId", { agentId: "missing", candidates }],
    ["a model of the task", "model", { model: "small", candidates }],
    ["an earlier run", "resume", { resume: `run_${"0".repeat(26)}`, candidates }],
    ["no isolation", "isolation", { isolation: "none", candidates }]
  ])("refuses %s, and stores nothing", async (_, path, more) => {
    const found = await world()
    const answer = await makeTask(found, more)
    assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"], answer.text)
    assert.include(answer.text, `"path":"${path}"`)
    const { body } = await found.client.ask<Page<Task>>("GET", `/client/tasks?projectId=${found.projectId}`)
    assert.isEmpty(body.items)
  })

  it("refuses an Edge without candidates, and all of them for one that is not offered", async () => {
    const found = await world()
    await found.edge.heartbeat({
      ...able,
      commands: able.commands.filter((name) => name !== CANDIDATES_FEATURE)
    })
    const outdated = await makeTask(found, { candidates })
    assert.deepStrictEqual([outdated.status, codeOf(outdated)], [409, "conflict"])
    assert.deepInclude<object>(outdated.body, { details: { reason: "edge_outdated" } })
    await found.edge.heartbeat(able)
    const missing = await makeTask(found, { candidates: [...candidates, { agentId: "missing" }] })
    assert.deepStrictEqual([missing.status, codeOf(missing)], [503, "runtime_unavailable"], missing.text)
    const { body } = await found.client.ask<Page<Session>>(
      "GET",
      `/client/sessions?projectId=${found.projectId}`
    )
    assert.isEmpty(body.items)
  })

  it("takes the checks of the project into each run, and keeps them out of other runs", async () => {
    const found = await world()
    const checks = [{ name: "Tests", command: "npm test" }]
    const path = `/client/projects/${found.projectId}`
    const updated = await found.client.ask<Project>("PATCH", path, { body: { checks } })
    assert.deepStrictEqual(updated.body.checks, checks)
    for (const wrong of [
      [...checks, ...checks],
      Array.from({ length: 6 }, (_, i) => ({ name: `${i}`, command: "x" }))
    ])
      assert.strictEqual((await found.client.ask("PATCH", path, { body: { checks: wrong } })).status, 422)
    const { group } = await started(found)
    assert.deepStrictEqual(
      starts(found.edge).map(({ create }) => create.checks),
      models.map(() => checks)
    )
    await makeTask(found)
    await until("a run without a group", async () => starts(found.edge).length > models.length)
    assert.notProperty(starts(found.edge).at(-1)?.create, "checks")
    // Also of later turns.
    const runId = group.candidates[0]?.run?.id
    assert.isDefined(runId)
    await ended(found.edge, runId)
    const message = await found.client.ask("POST", `/client/sessions/${group.sessionId}/messages`, {
      body: { text: "More" }
    })
    assert.strictEqual(message.status, 201, message.text)
    await until("the next turn", async () => starts(found.edge).length > models.length + 1)
    const later = starts(found.edge).at(-1)?.create
    assert.deepStrictEqual([later?.checks, later?.resume, later?.groupId], [checks, runId, undefined])
    const removed = await found.client.ask<Project>("PATCH", path, { body: { checks: [] } })
    assert.notProperty(removed.body, "checks")
  })

  it("shows what each candidate has: its run, what it used, its changes and its checks", async () => {
    const found = await world()
    const { group, runIds } = await started(found)
    const [runId] = runIds
    assert.isDefined(runId)
    const set = await ended(found.edge, runId)
    const checks = {
      runId,
      version: set.version,
      results: [{ name: "Tests", command: "npm test", state: "passed", exitCode: 0, durationMs: 12 }]
    } as const
    await found.edge.pushChanges([{ ...set, checks }])
    const [first, second] = (await groupOf(found.client, group.id)).candidates
    assert.deepStrictEqual([first?.runs, first?.usage], [1, { inputTokens: 3 }])
    assert.deepStrictEqual(
      [first?.run?.state, first?.changes?.fileCount, first?.changes?.checks],
      ["completed", 1, checks]
    )
    assert.notProperty(first?.changes, "decisions")
    assert.deepStrictEqual([second?.runs, second?.usage, second?.changes], [1, undefined, undefined])
  })

  /** As if another candidate had been continued that long ago. */
  const closeEarlier = ({ id }: TaskGroup) =>
    hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.orDie(
          sql`UPDATE task_group_candidates SET closed_at = closed_at - interval '7 days 1 second' WHERE group_id = ${id}`
        )
      )
    )

  const discarded = ({ commands }: LinkedEdge) =>
    commands.flatMap((each) => (each.name === "DiscardChanges" ? [each.payload.runId] : []))

  it("begins, shows and removes a further run of a candidate whose first one did not start", async () => {
    const found = await world()
    const { client, edge } = found
    const before = edge.answers
    edge.answers = (each) =>
      each.name === "StartRun" && each.payload.create.model === "large" ? refused("internal") : before(each)
    const created = await makeTask(found, { candidates })
    assert.strictEqual(created.status, 201, created.text)
    let group = await groupOf(client, created.body.groupId)
    await until("a candidate that failed", async () => {
      group = await groupOf(client, group.id)
      return group.candidates[1]?.task.state === "failed"
    })
    edge.answers = before
    const sent = await client.ask("POST", `/client/sessions/${group.sessionId}/messages`, {
      body: { text: "Again", to: group.candidates[1]?.agentInstanceId }
    })
    assert.strictEqual(sent.status, 201, sent.text)
    await until("the further run", async () =>
      starts(edge).some(({ create }) => create.input.text === "Again")
    )
    const again = starts(edge).find(({ create }) => create.input.text === "Again")
    assert.isDefined(again)
    assert.strictEqual(again.create.groupId, group.id)
    const set = await ended(edge, again.runId)
    const candidate = (await groupOf(client, group.id)).candidates[1]
    assert.deepStrictEqual([candidate?.changes?.id, candidate?.run?.id], [set.id, again.runId])
    await continueWith(client, group, group.candidates[0]?.task.id)
    await closeEarlier(group)
    await edge.heartbeat(able)
    await hub.people.act(settleClosedCandidates)
    assert.include(discarded(edge), again.runId)
    const removed = (await groupOf(client, group.id)).candidates[1]
    assert.deepStrictEqual([removed?.changes?.state, removed?.removedAt !== undefined], ["decided", true])
  })

  it("compares the changes of all candidates, and marks what they have in common", async () => {
    const found = await world()
    const { answers, client, edge } = found
    const { group, runIds } = await started(found)
    const [one, two] = runIds
    assert.isDefined(one)
    assert.isDefined(two)
    await ended(edge, one)
    await ended(edge, two)
    answers.files.set(one, [file("a", "a.txt", "same"), file("b", "b.txt", "one")])
    answers.files.set(two, [file("a", "a.txt", "same"), file("b", "b.txt", "two"), file("c", "c.txt", "two")])
    const path = `/client/task-groups/${group.id}/comparison`
    const { body, status, text } = await client.ask<GroupComparison>("GET", path)
    assert.strictEqual(status, 200, text)
    assert.deepStrictEqual(
      body.candidates.map(({ runId, state }) => [state, runId]),
      [
        ["compared", one],
        ["compared", two],
        ["none", undefined]
      ]
    )
    assert.deepStrictEqual(
      body.files.map(({ changes, path, same }) => [path, same, changes.map(({ runId }) => runId)]),
      [
        ["a.txt", true, [one, two]],
        ["b.txt", undefined, [one, two]],
        ["c.txt", undefined, [two]]
      ]
    )
    const long = "n".repeat(100_000)
    answers.files.set(
      two,
      ["d", "e", "f"].map((name) => file(name, `${name}${long}`, "two"))
    )
    const cut = await client.ask<GroupComparison>("GET", path)
    assert.deepStrictEqual(
      cut.body.candidates.map(({ truncated }) => truncated),
      [undefined, true, undefined],
      cut.text.slice(0, 1_000)
    )
    assert.deepStrictEqual(
      cut.body.files.map((each) => each.path.length),
      [5, 5, 100_001, 100_001]
    )
    await edge.leave()
    await until("the device offline", async () => {
      const offline = await client.ask("GET", path)
      return offline.status === 503 && codeOf(offline) === "target_offline"
    })
    assert.strictEqual((await groupOf(client, group.id)).candidates.length, 3)
  })

  it("pauses, resumes and stops what is in progress, and names what a command did not reach", async () => {
    const found = await world()
    const { client, edge } = found
    const { group, runIds } = await started(found)
    const [one, two, three] = runIds
    assert.isDefined(one)
    await ended(edge, one)
    const command = (name: string) =>
      client.ask<GroupOutcome>("POST", `/client/task-groups/${group.id}/${name}`)
    const sent = (name: string) =>
      edge.commands.flatMap((each) =>
        each.name === name && "runId" in each.payload ? [each.payload.runId] : []
      )
    for (const [name, wire] of [
      ["pause", "PauseRun"],
      ["resume", "ResumeRun"]
    ] as const) {
      const { body, status, text } = await command(name)
      assert.deepStrictEqual([status, body.refused], [200, []], text)
      assert.deepStrictEqual(sent(wire).toSorted(), [two, three].toSorted())
    }
    const before = edge.answers
    edge.answers = (each) => (each.name === "CancelRun" ? refused("overloaded") : before(each))
    const busy = await command("stop")
    assert.deepStrictEqual(
      busy.body.refused.map(({ code, taskId }) => [code, taskId]),
      group.candidates.slice(1).map(({ task }) => ["overloaded", task.id]),
      busy.text
    )
    edge.answers = before
    const stopped = await command("stop")
    assert.deepStrictEqual([stopped.status, stopped.body.refused], [200, []], stopped.text)
  })

  it("withdraws candidates that wait for their device", async () => {
    const found = await world()
    await found.edge.leave()
    await until("a task that waits", async () => {
      const created = await makeTask(found, { candidates, onOffline: "queue" })
      if (created.body.state !== "queued") return false
      const path = `/client/task-groups/${created.body.groupId}/stop`
      const stopped = await found.client.ask<GroupOutcome>("POST", path)
      assert.deepStrictEqual([stopped.status, stopped.body.refused], [200, []], stopped.text)
      assert.deepStrictEqual(
        stopped.body.group.candidates.map(({ task }) => task.state),
        models.map(() => "cancelled")
      )
      return true
    })
  })

  describe("continues with one", () => {
    it("whose agent becomes the default, and closes the others", async () => {
      const found = await world()
      const { client, edge } = found
      const { group, runIds } = await started(found)
      const [one, two, three] = group.candidates
      const [first] = runIds
      assert.isDefined(first)
      await ended(edge, first)
      const messages = `/client/sessions/${group.sessionId}/messages`
      const to = (id: string | undefined) =>
        client.ask<Message>("POST", messages, { body: { text: "And?", to: id } })
      const waiting = await to(three?.agentInstanceId)
      const key = { "idempotency-key": "continue-1" }
      const continued = await continueWith(client, group, one?.task.id, key)
      assert.deepStrictEqual([continued.status, continued.body.refused], [200, []], continued.text)
      const after = continued.body.group
      assert.deepStrictEqual([after.continuedTaskId, after.continuedBy], [one?.task.id, client.userId])
      assert.strictEqual(
        Date.parse(after.removeAt ?? "") - Date.parse(after.continuedAt ?? ""),
        7 * 86_400_000
      )
      assert.deepStrictEqual(
        after.candidates.map(({ closed }) => closed),
        [undefined, true, true]
      )
      const cancelled = edge.commands.flatMap((each) =>
        each.name === "CancelRun" ? [each.payload.runId] : []
      )
      assert.deepStrictEqual(cancelled.toSorted(), runIds.slice(1).toSorted())
      const session = (await client.ask<Session>("GET", `/client/sessions/${group.sessionId}`)).body
      assert.strictEqual(session.defaultAgentInstanceId, one?.agentInstanceId)
      assert.deepStrictEqual(
        session.agents.map(({ closedAt }) => closedAt !== undefined),
        [false, true, true]
      )
      const withdrawn = (await client.ask<Message>("GET", `${messages}/${waiting.body.id}`)).body
      assert.strictEqual(withdrawn.delivery?.state, "withdrawn")
      const closed = await to(two?.agentInstanceId)
      assert.deepStrictEqual([closed.status, codeOf(closed)], [409, "conflict"])
      const asDefault = await client.ask("PATCH", `/client/sessions/${group.sessionId}`, {
        body: { defaultAgentInstanceId: two?.agentInstanceId }
      })
      assert.strictEqual(asDefault.status, 409)
      const again = await continueWith(client, group, one?.task.id, key)
      assert.deepStrictEqual([again.status, again.body], [200, continued.body])
      const other = await continueWith(client, group, two?.task.id)
      assert.deepStrictEqual([other.status, codeOf(other)], [409, "conflict"])
      const foreign = await continueWith(client, group, `tsk_${"0".repeat(26)}` as TaskId)
      assert.deepStrictEqual([foreign.status, codeOf(foreign)], [422, "schema_validation_failed"])
    })

    it("of two people who choose at the same time, one wins", async () => {
      const found = await world()
      const { group } = await started(found)
      const other = await hub.signedIn("another person")
      await new Mirror(hub).member(found.client.userId, found.projectId, other.userId as UserId, "member")
      const answers = await Promise.all([
        continueWith(found.client, group, group.candidates[0]?.task.id),
        continueWith(other, group, group.candidates[1]?.task.id)
      ])
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 409])
    })

    it("takes no choice from viewers and API keys", async () => {
      const found = await world()
      const { group } = await started(found)
      const viewer = await hub.signedIn("a viewer")
      await new Mirror(hub).member(found.client.userId, found.projectId, viewer.userId as UserId, "viewer")
      const wanted = { name: "ci", scopes: ["read", "write"] as const, expiresInDays: 1 }
      const { token } = await hub.people.act(
        Effect.flatMap(ApiKeyStore, (keys) => keys.create(found.client.userId as UserId, wanted))
      )
      for (const client of [viewer, new HubClient(hub.url, token, found.client.userId)]) {
        const answer = await continueWith(client, group, group.candidates[0]?.task.id)
        assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"])
        assert.strictEqual((await client.ask("GET", `/client/task-groups/${group.id}`)).status, 200)
      }
    })

    it("removes what is undecided of the others after a week, at their Edge", async () => {
      // At the Hub that the tests share, the devices of the others would be asked, and do not answer.
      const alone = new HubInProcess()
      await alone.start()
      onTestFinished(() => alone.remove())
      const found = await world(alone)
      const { client, edge } = found
      const { group, runIds } = await started(found)
      const sets: Array<ChangeSetId> = []
      for (const runId of runIds) sets.push((await ended(edge, runId)).id)
      await continueWith(client, group, group.candidates[0]?.task.id)
      const settle = async () => {
        await edge.heartbeat(able)
        await alone.people.act(settleClosedCandidates)
      }
      const discarded = () =>
        edge.commands.flatMap((each) => (each.name === "DiscardChanges" ? [each.payload.runId] : []))
      await settle()
      assert.isEmpty(discarded())
      await alone.people.act(
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          Effect.orDie(
            sql`UPDATE task_group_candidates SET closed_at = closed_at - interval '7 days 1 second' WHERE group_id = ${group.id}`
          )
        )
      )
      const before = edge.answers
      edge.answers = (each) => (each.name === "DiscardChanges" ? refused("conflict") : before(each))
      await settle()
      assert.isTrue(
        (await groupOf(client, group.id)).candidates.every(({ removedAt }) => removedAt === undefined)
      )
      edge.answers = before
      await settle()
      await settle()
      assert.deepStrictEqual(discarded().slice(-2).toSorted(), runIds.slice(1).toSorted())
      const after = await groupOf(client, group.id)
      assert.deepStrictEqual(
        after.candidates.map(({ changes, removedAt }) => [changes?.state, removedAt !== undefined]),
        [
          ["open", false],
          ["decided", true],
          ["decided", true]
        ]
      )
      const trail = await client.ask<Page<AuditRecord>>("GET", `/client/audit?projectId=${found.projectId}`)
      assert.deepStrictEqual(
        trail.body.items
          .filter(({ action }) => action === "changes.remove" || action === "group.continue")
          .map(({ action, actor, resource }) => [action, actor, resource])
          .toSorted(),
        [
          ...sets.slice(1).map((set) => ["changes.remove", "system", set]),
          ["group.continue", client.userId, group.id]
        ].toSorted()
      )
    })
  })

  it("is closed to users who are not members, as if it did not exist", async () => {
    const found = await world()
    const { group } = await started(found)
    const stranger = await hub.signedIn("a stranger")
    for (const id of [group.id, `tgr_${"0".repeat(26)}`])
      for (const [method, path] of [
        ["GET", ""],
        ["GET", "/comparison"],
        ["POST", "/stop"],
        ["POST", "/pause"],
        ["POST", "/resume"]
      ] as const) {
        const answer = await stranger.ask(method, `/client/task-groups/${id}${path}`)
        assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"], path)
      }
  })

  it("adds candidates to a session without touching its other agents, and none to one that is archived", async () => {
    const found = await world()
    const { id: sessionId } = await makeSession(found.client, { id: found.projectId })
    const single = await makeTask(found, { sessionId })
    assert.strictEqual(single.status, 201, single.text)
    const { group } = await started(found, { sessionId })
    assert.strictEqual(group.sessionId, sessionId)
    const session = (await found.client.ask<Session>("GET", `/client/sessions/${sessionId}`)).body
    assert.lengthOf(session.agents, models.length + 1)
    await found.client.ask("PATCH", `/client/sessions/${sessionId}`, { body: { state: "archived" } })
    const refusedTask = await makeTask(found, { candidates, sessionId })
    assert.deepStrictEqual([refusedTask.status, codeOf(refusedTask)], [409, "conflict"])
  })
})
