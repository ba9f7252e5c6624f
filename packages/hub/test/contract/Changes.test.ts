/** Change sets of runs and decisions about them, over a real Hub and a real link. The Edge of the test accepts a part once. */
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { ChangeDecision, ChangeSet, DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import type { HubChangeSet, HubRun } from "@corral/domain/hub-api/HubRun"
import type { ChangedFileId, ChangeHunkId, ChangeSetId, RunId, UserId } from "@corral/domain/identity/Ids"
import { type CommandOutcome, type EdgeCommand, edgeCommands } from "@corral/domain/link/EdgeCommand"
import type { Session, SessionItem } from "@corral/domain/session/Session"
import { codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  changeDecisionOf,
  changeSetOf,
  createdRun,
  createRun,
  Mirror,
  runCompleted,
  runStarted
} from "@corral/testing/hub/Mirror"
import { makeSession } from "@corral/testing/hub/People"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { ChangeFollower } from "../harness/ChangeFollower.ts"
import { LinkedEdge, offer, taken } from "../harness/LinkedEdge.ts"
import { deviceOf, makeTask, until, untilTask, type World, worldOf } from "../link/World.ts"

interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

const hunk = (digit: string) => digit.repeat(32) as ChangeHunkId
const fileId = "f".repeat(32)
const file = {
  id: fileId,
  path: "notes.txt",
  status: "modified",
  binary: false,
  additions: 2,
  deletions: 1,
  hunks: 2,
  version: "1".repeat(32)
}

const refused = (code: string, details?: Record<string, unknown>): CommandOutcome => ({
  _tag: "Refused",
  error: { code, message: "Refused.", ...(details === undefined ? {} : { details }) }
})

/** Answers for the set: each hunk is decided once, and what is named later is outdated. */
const answersFor = (set: ChangeSet) => {
  const decided = new Set<string>()
  return (command: EdgeCommand): CommandOutcome | undefined => {
    switch (command.name) {
      case "ReadChanges": {
        const { after, limit } = command.payload
        const pages = after === undefined ? { items: [file], next: "page-2" } : { items: [], next: null }
        return { _tag: "Done", value: { set, ...pages, limit } }
      }
      case "ReadChangedFile":
        return command.payload.fileId === fileId
          ? { _tag: "Done", value: { file, version: set.version, items: [], next: null } }
          : refused("not_found")
      case "DecideChanges": {
        const { by, kind, origin, request } = command.payload
        const hunks = "hunks" in request.parts ? (request.parts.hunks ?? []) : []
        if (hunks.some((id) => decided.has(id))) return refused("changes_outdated")
        for (const id of hunks) decided.add(id)
        const { comment } = request
        const author = { kind, by, ...(origin === undefined ? {} : { origin }) }
        const decision = changeDecisionOf(set, { ...author, ...(comment === undefined ? {} : { comment }) })
        return { _tag: "Done", value: { decision, set: { ...set, decisions: [decision] } } }
      }
      case "UndoChanges": {
        const decision = changeDecisionOf(set, { kind: "undo", by: command.payload.by })
        return { _tag: "Done", value: { decision, set } }
      }
      default:
        return taken(command)
    }
  }
}

describe("/client/changes", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** A run of a session that has ended, with an open set, and its Edge. */
  const world = async (more: Partial<ChangeSet> = {}) => {
    const found = await worldOf(hub)
    const mirror = new Mirror(hub, found.deviceId)
    await mirror.link(found.projectId)
    const { id: sessionId } = await makeSession(found.client, { id: found.projectId })
    const runId = await mirror.open(found.projectId, { ...createRun, isolation: "worktree", sessionId })
    await mirror.append(runId, 1, createdRun, runStarted, runCompleted)
    const set = changeSetOf(runId, { sessionId, ...more })
    await mirror.changes(set)
    const edge = await LinkedEdge.link(hub.url, { ...found, answers: answersFor(set) })
    await edge.heartbeat({ ...offer, commands: Object.keys(edgeCommands) })
    return { ...found, mirror, sessionId, runId, set, edge }
  }

  const member = async (
    { client, projectId }: Pick<World, "client" | "projectId">,
    name: string,
    role: "admin" | "member" | "viewer" = "member"
  ) => {
    const person = await hub.signedIn(name)
    await new Mirror(hub).member(client.userId, projectId, person.userId as UserId, role)
    return person
  }

  const decide = (client: HubClient, runId: RunId, kind: string, body: unknown, headers = {}) =>
    client.ask<DecidedChanges>("POST", `/client/runs/${runId}/changes/${kind}`, { body, headers })
  const parts = (...digits: ReadonlyArray<string>) => ({ parts: { hunks: digits.map(hunk) } })
  const setsOf = async (client: HubClient, path: string) =>
    (await client.ask<Page<HubChangeSet>>("GET", path)).body.items

  it("lists the sets of a session and of all projects, and counts those that wait", async () => {
    const { client, edge, mirror, projectId, runId, sessionId, set } = await world()
    const path = `/client/sessions/${sessionId}/changes`
    assert.deepStrictEqual(await setsOf(client, path), [{ ...set, projectId, targetId: edge.deviceId }])
    assert.lengthOf(await setsOf(client, `${path}?changeSetId=${set.id}&state=open`), 1)
    assert.lengthOf(await setsOf(client, `/client/changes?projectId=${projectId}&state=open`), 1)
    const run = (await client.ask<HubRun>("GET", `/client/runs/${runId}`)).body
    assert.deepStrictEqual(run.changes, { id: set.id, runId, state: "open", fileCount: 1 })
    const counted = async () => {
      const listed = await client.ask<Page<SessionItem>>("GET", `/client/sessions?projectId=${projectId}`)
      const { body } = await client.ask<Session>("GET", `/client/sessions/${sessionId}`)
      return [listed.body.items[0]?.openChanges, body.openChanges]
    }
    assert.deepStrictEqual(await counted(), [1, 1])
    for (const more of [{ live: true }, { direct: true }, { state: "decided" }] as const) {
      await mirror.changes({ ...set, ...more })
      assert.deepStrictEqual(await counted(), [undefined, undefined], JSON.stringify(more))
      assert.isEmpty(await setsOf(client, `/client/changes?projectId=${projectId}&state=open`))
    }
    const stranger = await hub.signedIn("stranger")
    assert.isEmpty(await setsOf(stranger, `/client/changes`))
    for (const target of [path, `/client/changes?projectId=${projectId}`, `/client/runs/${runId}/changes`]) {
      const answer = await stranger.ask("GET", target)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"], target)
    }
  })

  it("hints at sets that wait and at each change, to readers only", async () => {
    const { client, mirror, projectId, runId, set } = await world()
    const stranger = await hub.signedIn("another stranger")
    const [follower, other] = [await ChangeFollower.open(client), await ChangeFollower.open(stranger)]
    await follower.hint({ kind: "changes", id: set.id, runId, projectId, state: "open" })
    await mirror.changes({ ...set, state: "decided" })
    await follower.hint({ kind: "changes", id: set.id, state: "decided" })
    const newcomer = await mirror.open(projectId)
    const second = changeSetOf(newcomer)
    await mirror.changes(second)
    await follower.hint({ kind: "changes", id: second.id })
    assert.isEmpty(other.hints.filter(({ kind }) => kind === "changes"))
    await Promise.all([follower.close(), other.close()])
  })

  it("reads files and hunks at the Edge, page by page", async () => {
    const { client, edge, runId, set } = await world()
    const path = `/client/runs/${runId}/changes`
    const first = await client.ask<Page<object> & { readonly set: ChangeSet }>("GET", `${path}?limit=1`)
    assert.deepStrictEqual([first.status, first.body.items, first.body.set], [200, [file], set], first.text)
    const cursor = first.body.nextCursor
    const last = await client.ask<Page<object>>("GET", `${path}?limit=1&cursor=${cursor}`)
    assert.deepStrictEqual([last.body.items, last.body.nextCursor], [[], null])
    const reads = edge.commands.flatMap((command) =>
      command.name === "ReadChanges" ? [command.payload] : []
    )
    assert.deepStrictEqual<unknown>(reads, [
      { runId, limit: 1 },
      { runId, limit: 1, after: "page-2" }
    ])
    const content = await client.ask<object>("GET", `${path}/files/${fileId}?context=10`)
    assert.deepInclude<object>(content.body, { file, version: set.version, items: [], nextCursor: null })
    const missing = await client.ask("GET", `${path}/files/${"0".repeat(32)}`)
    assert.deepStrictEqual([missing.status, codeOf(missing)], [404, "not_found"])
    const wrong = await client.ask("GET", `${path}/files/${fileId}?cursor=${cursor}`)
    assert.deepStrictEqual([wrong.status, codeOf(wrong)], [422, "schema_validation_failed"])
  })

  it("sends a decision to the Edge with its author and client, by run and by session", async () => {
    const { client, edge, runId, sessionId, set } = await world()
    const comment = "Use the other name."
    const rejected = await decide(client, runId, "reject", { ...parts("1"), comment })
    assert.strictEqual(rejected.status, 200, rejected.text)
    const { userId } = client
    assert.deepInclude<object>(rejected.body.decision, {
      kind: "reject",
      by: userId,
      origin: "editor",
      comment
    })
    const path = `/client/sessions/${sessionId}/changes`
    const accepted = await client.ask("POST", `${path}/accept?changeSetId=${set.id}`, { body: parts("2") })
    assert.strictEqual(accepted.status, 200, accepted.text)
    const undone = await client.ask("POST", `${path}/undo?changeSetId=${set.id}`, { body: {} })
    assert.strictEqual(undone.status, 200, undone.text)
    const sent = edge.commands.flatMap(({ name, payload }) =>
      name === "DecideChanges" || name === "UndoChanges" ? [payload] : []
    )
    const author = { by: userId, origin: "editor" }
    assert.deepStrictEqual<unknown>(sent, [
      { runId, kind: "reject", request: { ...parts("1"), comment }, ...author },
      { runId, kind: "accept", request: parts("2"), ...author },
      { runId, request: {}, ...author }
    ])
    const elsewhere = `chs_${"0".repeat(26)}` as ChangeSetId
    const missing = await client.ask("POST", `${path}/accept?changeSetId=${elsewhere}`, { body: parts("3") })
    assert.deepStrictEqual([missing.status, codeOf(missing)], [403, "permission_denied"])
  })

  it("lets one of two people win, and tells the other that the changes are outdated", async () => {
    const found = await world()
    const people = [found.client, await member(found, "a second person")]
    const answers = await Promise.all(
      people.map((person) => decide(person, found.runId, "accept", parts("1", "2")))
    )
    assert.deepStrictEqual(
      answers.map(({ status }) => status).toSorted(),
      [200, 409],
      answers.map(({ text }) => text).join("\n")
    )
    const lost = answers.find(({ status }) => status === 409)
    assert.strictEqual(lost && codeOf(lost), "changes_outdated")
  })

  it("returns the same response for the same idempotency key, and sends the decision once", async () => {
    const { client, edge, runId } = await world()
    const headers = { "idempotency-key": "decide-1" }
    const first = await decide(client, runId, "accept", parts("1"), headers)
    const again = await decide(client, runId, "accept", parts("1"), headers)
    assert.deepStrictEqual([again.status, again.body], [200, first.body])
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    const other = await decide(client, runId, "accept", parts("2"), headers)
    assert.deepStrictEqual([other.status, codeOf(other)], [409, "idempotency_conflict"])
    const kinds = edge.commands.filter(({ name }) => name === "DecideChanges")
    assert.lengthOf(kinds, 1)
  })

  it.each<readonly [string, number, Record<string, unknown> | undefined]>([
    ["run_active", 409, undefined],
    ["changes_outdated", 409, undefined],
    [
      "merge_conflict",
      409,
      { files: [{ id: fileId, path: "notes.txt", base: "a", workspace: "b", change: "c" }] }
    ],
    ["conflict", 409, undefined],
    ["not_found", 404, undefined],
    ["permission_denied", 403, undefined],
    ["overloaded", 503, undefined]
  ])("passes %s of the Edge on", async (code, status, details) => {
    const { client, edge, runId } = await world()
    edge.answers = () => refused(code, details)
    for (const [kind, body] of [
      ["accept", parts("1")],
      ["undo", {}]
    ] as const) {
      const answer = await decide(client, runId, kind, body)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [status, code], answer.text)
      if (details !== undefined) assert.deepInclude<object>(answer.body, { details })
    }
  })

  it("refuses an Edge without change sets and a device that is offline", async () => {
    const { client, edge, runId } = await world()
    await edge.heartbeat({ ...offer, commands: ["StartRun"] })
    for (const ask of [
      client.ask<object>("GET", `/client/runs/${runId}/changes`),
      decide(client, runId, "accept", parts("1")),
      decide(client, runId, "undo", {})
    ]) {
      const outdated = await ask
      assert.deepStrictEqual([outdated.status, codeOf(outdated)], [409, "conflict"])
      assert.deepInclude<object>(outdated.body, { details: { reason: "edge_outdated" } })
    }
    await edge.leave()
    await until("the device offline", async () => {
      const offline = await decide(client, runId, "accept", parts("1"))
      return offline.status === 503 && codeOf(offline) === "target_offline"
    })
  })

  it("takes no decisions from API keys and viewers", async () => {
    const found = await world()
    const wanted = { name: "ci", scopes: ["read", "write"] as const, expiresInDays: 1 }
    const { token } = await hub.people.act(
      Effect.flatMap(ApiKeyStore, (keys) => keys.create(found.client.userId as UserId, wanted))
    )
    const key = new HubClient(hub.url, token, found.client.userId)
    assert.strictEqual((await key.ask("GET", `/client/runs/${found.runId}/changes`)).status, 200)
    for (const client of [key, await member(found, "a viewer", "viewer")])
      for (const kind of ["accept", "reject", "undo"]) {
        const answer = await decide(client, found.runId, kind, kind === "undo" ? {} : parts("1"))
        assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"])
      }
    assert.isUndefined(found.edge.commands.find(({ name }) => name === "DecideChanges"))
  })

  it("audits every outcome of a decision, without its content", async () => {
    const found = await world()
    const { client, projectId, runId, set } = found
    const viewer = await member(found, "vera", "viewer")
    await decide(viewer, runId, "accept", parts("1"))
    await decide(client, runId, "reject", { ...parts("1"), comment: "private" })
    await decide(client, runId, "accept", parts("1"))
    await decide(client, runId, "undo", {})
    const trail = await client.ask<Page<AuditRecord>>("GET", `/client/audit?projectId=${projectId}`)
    assert.deepStrictEqual(
      trail.body.items
        .filter(({ action }) => action.startsWith("changes."))
        .map(({ action, actor, code, outcome, resource }) => [action, actor, resource, outcome, code]),
      [
        ["changes.undo", client.userId, set.id, "allowed", null],
        ["changes.accept", client.userId, set.id, "failed", "changes_outdated"],
        ["changes.reject", client.userId, set.id, "allowed", null],
        ["changes.accept", viewer.userId, set.id, "denied", "permission_denied"]
      ]
    )
    assert.notInclude(trail.text, "private")
  })

  describe("the policy of the project", () => {
    /** A task of each person in turn, each continuing the run before. Returns the runs. */
    const teamOf = async () => {
      const owner = await hub.signedIn("policy owner")
      const { id: projectId } = (
        await owner.ask<{ readonly id: World["projectId"] }>("POST", "/client/projects", {
          body: { name: "P" }
        })
      ).body
      const device = await deviceOf(owner, "edge", projectId)
      const mirror = new Mirror(hub, device.deviceId)
      await mirror.link(projectId)
      const edge = await LinkedEdge.link(hub.url, { ...device, answers: taken })
      const resumable = {
        ...offer,
        commands: Object.keys(edgeCommands)
      }
      await edge.heartbeat(resumable)
      const team = { client: owner, projectId, ...device }
      const [ada, ben] = [await member(team, "policy ada"), await member(team, "policy ben")]
      const turn = async (client: HubClient, resume?: RunId): Promise<RunId> => {
        const isolated = resume === undefined ? { isolation: "worktree" } : { resume }
        const task = await makeTask({ ...team, client }, isolated)
        assert.strictEqual(task.status, 201, task.text)
        const { runId } = await untilTask({ ...team, client }, task.body.id, "dispatched")
        assert.isDefined(runId)
        await mirror.append(runId, 1, createdRun, runStarted, runCompleted)
        return runId
      }
      const choose = (approvals: object) =>
        owner.ask("PATCH", `/client/projects/${projectId}`, { body: { approvals } })
      return { owner, ada, ben, edge, mirror, turn, choose }
    }

    it("says which role decides", async () => {
      const { ada, choose, edge, mirror, owner, turn } = await teamOf()
      const runId = await turn(ada)
      const set = changeSetOf(runId)
      await mirror.changes(set)
      edge.answers = answersFor(set)
      await choose({ approvers: "admin" })
      const member = await decide(ada, runId, "accept", parts("1"))
      assert.deepStrictEqual([member.status, codeOf(member)], [403, "permission_denied"])
      assert.include(member.text, "Only the role admin or a stronger one can decide about changes")
      assert.strictEqual((await decide(owner, runId, "accept", parts("1"))).status, 200)
    })

    it("counts the users of all runs since everything was decided as requesters", async () => {
      const { ada, ben, choose, edge, mirror, owner, turn } = await teamOf()
      await choose({ ownRequests: false })
      const first = await turn(ada)
      const set = changeSetOf(first)
      edge.answers = answersFor(set)
      // Before the Edge has reported the set, by the run itself.
      assert.strictEqual((await decide(ada, first, "accept", parts("1"))).status, 403)
      await mirror.changes(set)
      assert.strictEqual((await decide(ada, first, "accept", parts("1"))).status, 403)
      const answer = await decide(ada, first, "reject", parts("1"))
      assert.include(answer.text, "You can't decide about the changes of your own request")
      assert.strictEqual((await decide(ben, first, "accept", parts("1"))).status, 200)
      // Something of the first run is still undecided.
      const second = await turn(ben, first)
      const both = { ...set, runId: second }
      await mirror.changes(both)
      for (const runId of [first, second])
        for (const person of [ada, ben])
          assert.strictEqual((await decide(person, runId, "accept", parts("2"))).status, 403)
      const decided: ChangeDecision = changeDecisionOf(both, { by: owner.userId ?? "" })
      await mirror.changes({ ...both, state: "decided", decisions: [decided] })
      const third = await turn(ben, second)
      // The run continues in the set before its Edge reports that.
      assert.strictEqual((await decide(ben, first, "accept", parts("3"))).status, 403)
      const after = { ...set, runId: third, decisions: [decided] }
      await mirror.changes(after)
      assert.strictEqual((await decide(ben, third, "accept", parts("3"))).status, 403)
      assert.strictEqual((await decide(ada, third, "accept", parts("3"))).status, 200)
      // An undo reaches changes of all runs, and makes them undecided again.
      assert.strictEqual((await decide(ada, third, "undo", { decisionId: decided.id })).status, 403)
      assert.strictEqual((await decide(owner, third, "undo", { decisionId: decided.id })).status, 200)
      const undone = changeDecisionOf(after, { kind: "undo", reverses: decided.id })
      const reversed = { ...decided, reversedBy: undone.id }
      await mirror.changes({ ...after, decisions: [undone, reversed] })
      assert.strictEqual((await decide(ada, third, "accept", parts("4"))).status, 403)
      const [shown] = await setsOf(owner, `/client/changes?state=open`)
      assert.deepStrictEqual(shown?.decisions, [undone, reversed])
    })
  })

  describe("a push", () => {
    it("is stored once, with each decision, over the newest link of the device", async () => {
      const { client, edge, projectId, set } = await world()
      const decision = changeDecisionOf(set)
      const decided: ChangeSet = { ...set, state: "decided", version: "version-2", decisions: [decision] }
      for (let times = 0; times < 2; times++)
        assert.deepStrictEqual(
          await edge.pushChanges([decided, set, decided]),
          Result.succeed([{ id: set.id }, { id: set.id }, { id: set.id }])
        )
      assert.deepStrictEqual(await setsOf(client, `/client/changes?projectId=${projectId}`), [
        { ...decided, projectId, targetId: edge.deviceId }
      ])
      const stale = await edge.pushChanges([set], edge.generation + 1)
      assert.strictEqual(Result.isFailure(stale) && stale.failure.code, "conflict")
      assert.strictEqual((await edge.closed).code, 4409)
    })

    it("without the files of an earlier decision leaves what is stored of it", async () => {
      const { client, edge, projectId, set } = await world()
      const files = [{ id: "a".repeat(32) as ChangedFileId, path: "a.txt", hunks: 1 }]
      const decision = changeDecisionOf(set, { files, fileCount: 1 })
      // An Edge leaves out what does not fit.
      const cut = { ...decision, files: [] }
      for (const decisions of [[decision], [changeDecisionOf(set), cut]])
        await edge.pushChanges([{ ...set, decisions }])
      const [shown] = await setsOf(client, `/client/changes?projectId=${projectId}`)
      assert.deepStrictEqual(shown?.decisions[1], decision)
    })

    it("of another device's run or set is refused and recorded", async () => {
      const theirs = await world()
      const mine = await world()
      const stolen = { ...changeSetOf(mine.runId), id: theirs.set.id, state: "decided" as const }
      const pushed = await mine.edge.pushChanges([theirs.set, mine.set, stolen])
      assert.deepStrictEqual(
        pushed,
        Result.succeed([
          { id: theirs.set.id, refused: "permission_denied" },
          { id: mine.set.id },
          { id: theirs.set.id, refused: "permission_denied" }
        ])
      )
      const [stored] = await setsOf(theirs.client, `/client/changes?projectId=${theirs.projectId}`)
      assert.strictEqual(stored?.state, "open")
      const trail = await theirs.client.ask<Page<AuditRecord>>(
        "GET",
        `/client/audit?projectId=${theirs.projectId}&action=run.push`
      )
      assert.deepStrictEqual(
        trail.body.items.map(({ actor, outcome, resource }) => [actor, resource, outcome]),
        [[mine.deviceId, theirs.runId, "denied"]]
      )
    })

    it("that is not a change set is refused, and holds up no other", async () => {
      const { edge, set } = await world()
      const { id } = set
      const refusal = { id, refused: "schema_validation_failed" }
      const texts = [
        "{",
        "1",
        JSON.stringify({ ...set, state: "unknown" }),
        JSON.stringify(changeSetOf(set.runId, { id: `chs_${"0".repeat(26)}` as ChangeSetId }))
      ]
      assert.deepStrictEqual<unknown>(
        await edge.pushTexts([...texts, JSON.stringify(set)].map((text) => ({ id, set: text }))),
        Result.succeed([...texts.map(() => refusal), { id }])
      )
    })

    it("of a removed project is refused", async () => {
      const { client, edge, projectId, set } = await world()
      assert.strictEqual((await client.ask("DELETE", `/client/projects/${projectId}`)).status, 204)
      assert.deepStrictEqual(
        await edge.pushChanges([set]),
        Result.succeed([{ id: set.id, refused: "permission_denied" }])
      )
      assert.isEmpty(await setsOf(client, "/client/changes"))
    })
  })
})

describe("The isolation of a project's runs", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  it("is that of requests that name none, of new agents, and of no run that resumes another", async () => {
    const world = await worldOf(hub)
    const { client, deviceId, projectId } = world
    const edge = await LinkedEdge.link(hub.url, world)
    await new Mirror(hub, deviceId).link(projectId)
    const choose = (isolation: string | null) =>
      client.ask<{ readonly runs?: object }>("PATCH", `/client/projects/${projectId}`, {
        body: { runs: { isolation } }
      })
    assert.deepStrictEqual((await choose("worktree")).body.runs, { isolation: "worktree" })
    const started = async (more: Record<string, unknown>) => {
      const before = edge.commands.length
      const task = await makeTask(world, more)
      assert.strictEqual(task.status, 201, task.text)
      const command = (await edge.count(before + 1))[before]
      assert(command?.name === "StartRun")
      await untilTask(world, task.body.id, "dispatched")
      return command.payload
    }
    const first = await started({})
    assert.strictEqual(first.create.isolation, "worktree")
    assert.strictEqual((await started({ isolation: "none" })).create.isolation, "none")
    assert.isUndefined((await started({ resume: first.runId })).create.isolation)
    const { id } = await makeSession(client, { id: projectId })
    const body = { agentId: "scripted", targetId: deviceId, workspace: "demo" }
    const added = await client.ask<{ readonly isolation?: string }>("POST", `/client/sessions/${id}/agents`, {
      body
    })
    assert.strictEqual(added.body.isolation, "worktree")
    assert.deepStrictEqual((await choose(null)).body.runs, {})
    assert.isUndefined((await started({})).create.isolation)
    const wrong = await choose("somewhere")
    assert.deepStrictEqual([wrong.status, codeOf(wrong)], [422, "schema_validation_failed"])
  })
})
