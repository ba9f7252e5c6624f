/** Questions and plans of runs, and answers to them, over a real Hub and a real link. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import type { InputRequestId, RunId, UserId } from "@corral/domain/identity/Ids"
import type { RunMode } from "@corral/domain/run/Run"
import type { RequestedInput, ResolvedInputState } from "@corral/domain/input/InputRequest"
import { edgeCommands } from "@corral/domain/link/EdgeCommand"
import { Effect } from "effect"
import { actingAs, confirmedLink, gatewayEnv, gatewayOf, newAccount } from "@corral/testing/hub/Chats"
import { codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { until } from "@corral/testing/time/Until"
import {
  createdRun,
  inputRequested,
  inputResolved,
  Mirror,
  newId,
  runCompleted,
  runStarted
} from "@corral/testing/hub/Mirror"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { ChangeFollower } from "../harness/ChangeFollower.ts"
import { offer } from "../harness/LinkedEdge.ts"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { type World, worldOf } from "../link/World.ts"

const question: RequestedInput = {
  kind: "question",
  title: "Two questions",
  questions: [
    {
      id: "color",
      text: "Which colors?",
      kind: "choice",
      multiple: true,
      allowsOther: true,
      options: [
        { id: "red", label: "Red" },
        { id: "blue", label: "Blue" }
      ]
    },
    { id: "token", text: "Which token?", kind: "text", secret: true, required: false }
  ]
}
const plan: RequestedInput = { kind: "plan", title: "A plan", plan: "First this, then that." }
const sealed = { sealed: { key: "BKey", iv: "aXY", data: "ZGF0YQ" } }

interface Page<A> {
  readonly items: ReadonlyArray<A>
}

const issuePaths = ({ body }: { readonly body: object }) =>
  (
    body as { readonly details?: { readonly issues?: ReadonlyArray<{ readonly path: string }> } }
  ).details?.issues?.map(({ path }) => path)

describe("/client/inputs", () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const answer = (client: HubClient, id: string, body: unknown, headers = {}) =>
    client.ask<HubInput>("POST", `/client/inputs/${id}/answer`, { body, headers })
  const read = async (client: HubClient, id: string) =>
    (await client.ask<HubInput>("GET", `/client/inputs/${id}`)).body
  const ids = async (client: HubClient, query: string) =>
    (await client.ask<Page<HubInput>>("GET", `/client/inputs?${query}`)).body.items.map(({ id }) => id)

  const talking = async () => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    return { world, edge, talk: await Talk.open(world) }
  }
  /** A run that has asked. */
  const askingRun = async (request: RequestedInput = question, mode: RunMode = "ask") => {
    const { edge, talk, world } = await talking()
    await talk.send("Ask me", { mode })
    const turn = await edge.turn(0)
    await edge.begin(turn)
    return { edge, talk, world, turn, id: await edge.ask(turn, request) }
  }
  const member = async (
    { client, projectId }: World,
    name: string,
    role: "admin" | "member" | "viewer" = "member"
  ) => {
    const person = await hub.signedIn(name)
    await new Mirror(hub).member(client.userId, projectId, person.userId as UserId, role)
    return person
  }
  it("lists questions for readers, oldest first, by project, run and state", async () => {
    const world = await worldOf(hub)
    const mirror = new Mirror(hub, world.deviceId)
    const run = async (state?: ResolvedInputState) => {
      const id = newId<InputRequestId>("inq")
      const resolved = state === undefined ? [] : [inputResolved(id, state)]
      const events = [createdRun, runStarted, inputRequested(id), ...resolved]
      return { id, runId: await mirror.run(world.projectId, ...events) }
    }
    const [open, declined, later] = [await run(), await run("declined"), await run()]
    const of = `projectId=${world.projectId}`
    assert.deepStrictEqual(await ids(world.client, of), [open.id, declined.id, later.id])
    assert.deepStrictEqual(await ids(world.client, `${of}&state=pending`), [open.id, later.id])
    assert.deepStrictEqual(await ids(world.client, `runId=${declined.runId}`), [declined.id])
    const stranger = await hub.signedIn("stranger")
    assert.deepStrictEqual(await ids(stranger, `runId=${open.runId}`), [])
    for (const path of [`/client/inputs/${open.id}`, `/client/inputs?${of}`]) {
      const refused = await stranger.ask("GET", path)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    }
  })

  it("shows the question in the run, in its own resource and in the change feed", async () => {
    const { edge, id, turn, world } = await askingRun()
    const run = (await world.client.ask<HubRun>("GET", `/client/runs/${turn.runId}`)).body
    assert.deepInclude<object>(run, { state: "waiting_input", pendingInputs: [id], turn: "active" })
    assert.deepInclude<object>(await read(world.client, id), {
      ...question,
      state: "pending",
      runId: turn.runId
    })
    const follower = await ChangeFollower.open(world.client)
    await follower.hint({
      kind: "input",
      id,
      runId: turn.runId,
      projectId: world.projectId,
      state: "pending"
    })
    await answer(world.client, id, { answers: { color: ["red", { other: "Green" }] } })
    await follower.hint({ kind: "input", id, state: "answered" })
    await follower.close()
    await edge.complete(turn, "Done")
  })

  it("sends the answer to the Edge with its author and client, and returns it", async () => {
    const { edge, id, turn, world } = await askingRun()
    const answers = { color: ["blue", { other: "Green" }], token: sealed }
    const answered = await answer(world.client, id, { answers, comment: "As discussed." })
    assert.strictEqual(answered.status, 200, answered.text)
    const { userId } = world.client
    assert.deepInclude<object>(answered.body, {
      id,
      state: "answered",
      answeredBy: userId,
      origin: "editor"
    })
    const command = edge.edge.commands.find(({ name }) => name === "AnswerInput")
    // Sealed values pass through unchanged.
    assert.deepStrictEqual<unknown>(command?.payload, {
      answer: { runId: turn.runId, inputId: id, answers, comment: "As discussed." },
      by: userId,
      origin: "editor"
    })
  })

  it("returns the same response for the same idempotency key, and sends the answer once", async () => {
    const { edge, id, world } = await askingRun()
    const headers = { "idempotency-key": "answer-1" }
    const body = { answers: { color: ["red"] } }
    const first = await answer(world.client, id, body, headers)
    const again = await answer(world.client, id, body, headers)
    assert.deepStrictEqual([again.status, again.body], [200, first.body])
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    const other = await answer(world.client, id, { decline: true }, headers)
    assert.deepStrictEqual([other.status, codeOf(other)], [409, "idempotency_conflict"])
    assert.lengthOf(
      edge.edge.commands.filter(({ name }) => name === "AnswerInput"),
      1
    )
  })

  it("says who answered first, also after the end of the run", async () => {
    const { edge, id, turn, world } = await askingRun()
    const other = await member(world, "other")
    await answer(world.client, id, { answers: { color: ["red"] } })
    const late = await answer(other, id, { decline: true })
    const details = { inputId: id, state: "answered", answeredBy: world.client.userId }
    assert.deepStrictEqual([late.status, codeOf(late)], [409, "input_already_resolved"])
    assert.deepInclude<object>(late.body, { details })
    await edge.complete(turn, "Done")
    const later = await answer(world.client, id, { answers: { color: ["red"] } })
    assert.deepStrictEqual([later.status, codeOf(later)], [409, "input_already_resolved"])
    assert.deepInclude<object>(later.body, { details })
  })

  it("returns input_expired after the expiry, and input_already_resolved where no one answered", async () => {
    const world = await worldOf(hub)
    const mirror = new Mirror(hub, world.deviceId)
    for (const state of ["expired", "withdrawn", "self_answered", "cancelled", "declined"] as const) {
      const id = newId<InputRequestId>("inq")
      await mirror.run(world.projectId, createdRun, runStarted, inputRequested(id), inputResolved(id, state))
      const late = await answer(world.client, id, { answers: { name: "Ada" } })
      const [status, code] = state === "expired" ? [410, "input_expired"] : [409, "input_already_resolved"]
      assert.deepStrictEqual([late.status, codeOf(late)], [status, code])
      assert.deepInclude<object>(late.body, { details: { inputId: id, state } })
    }
  })

  it.each<readonly [string, unknown, ReadonlyArray<string>]>([
    ["an option that does not exist", { answers: { color: ["green"] } }, ["answers.color"]],
    ["a missing answer", { answers: {} }, ["answers.color"]],
    ["an unknown question", { answers: { color: ["red"], size: "big" } }, ["answers"]],
    ["a plain secret", { answers: { color: ["red"], token: "hunter2" } }, ["answers.token"]],
    ["a sealed answer that is not secret", { answers: { color: sealed } }, ["answers.color"]],
    ["an approval", { approve: true }, ["approve"]]
  ])("refuses %s, with one issue for each question", async (_, body, paths) => {
    const { edge, id, world } = await askingRun()
    const refused = await answer(world.client, id, body)
    assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"])
    const { issues } = (refused.body as unknown as { details: { issues: ReadonlyArray<{ path: string }> } })
      .details
    assert.deepStrictEqual(
      issues.map(({ path }) => path),
      [...paths]
    )
    assert.notInclude(refused.text, "hunter2")
    assert.isUndefined(edge.edge.commands.find(({ name }) => name === "AnswerInput"))
    assert.strictEqual((await read(world.client, id)).state, "pending")
  })

  it("returns target_offline while the Edge is offline, and edge_outdated for an Edge without questions", async () => {
    const { edge, id, world } = await askingRun()
    const old = Object.keys(edgeCommands).filter((name) => name !== "AnswerInput" && name !== "FinishRun")
    await edge.edge.heartbeat({ ...offer, commands: old })
    const outdated = await answer(world.client, id, { decline: true })
    assert.deepStrictEqual([outdated.status, codeOf(outdated)], [409, "conflict"])
    assert.deepInclude<object>(outdated.body, { details: { reason: "edge_outdated" } })
    const mirror = new Mirror(hub)
    const unlinked = newId<InputRequestId>("inq")
    await mirror.run(world.projectId, createdRun, runStarted, inputRequested(unlinked))
    await mirror.device(world.client.userId, world.projectId)
    const offline = await answer(world.client, unlinked, { answers: { name: "Ada" } })
    assert.deepStrictEqual([offline.status, codeOf(offline)], [503, "target_offline"])
  })

  it("takes answers to questions from members, also where the project restricts approvals", async () => {
    const { id, world } = await askingRun()
    const { client, projectId } = world
    await client.ask("PATCH", `/client/projects/${projectId}`, {
      body: { approvals: { approvers: "owner", ownRequests: false } }
    })
    const [viewer, mia, stranger] = [
      await member(world, "viewer", "viewer"),
      await member(world, "mia"),
      await hub.signedIn("nina")
    ]
    for (const person of [viewer, stranger]) {
      const refused = await answer(person, id, { answers: { color: ["red"] } })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    }
    const answered = await answer(mia, id, { answers: { color: ["red"] } })
    assert.deepStrictEqual([answered.status, answered.body.answeredBy], [200, mia.userId])
  })

  it("takes decisions on plans as the project says about approvals", async () => {
    const { id, world } = await askingRun(plan)
    const { client, projectId } = world
    const [admin, mia] = [await member(world, "an admin", "admin"), await member(world, "mia 2")]
    await client.ask("PATCH", `/client/projects/${projectId}`, {
      body: { approvals: { approvers: "admin", ownRequests: false } }
    })
    for (const person of [client, mia])
      for (const body of [{ approve: true }, { approve: false }, { decline: true }]) {
        const refused = await answer(person, id, body)
        assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
      }
    const returned = await answer(admin, id, { approve: false, comment: "Add tests." })
    assert.deepInclude<object>(returned.body, {
      state: "answered",
      approved: false,
      comment: "Add tests.",
      answeredBy: admin.userId
    })
  })

  it.each(["full_access", "plan"] as const)(
    "refuses the approval of a plan in the mode %s, which is not offered, and keeps the plan open",
    async (mode) => {
      const { edge, id, talk, world } = await askingRun(plan, "read_only")
      const refused = await answer(world.client, id, { approve: true, mode })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"])
      assert.deepStrictEqual(issuePaths(refused), ["mode"])
      assert.include(refused.text, "Choose one of: read_only, ask, auto_edit.")
      assert.strictEqual((await read(world.client, id)).state, "pending")
      assert.isEmpty(edge.responses)
      const approved = await answer(world.client, id, { approve: true, mode: "auto_edit" })
      assert.deepInclude<object>(approved.body, { state: "answered", mode: "auto_edit" })
      assert.deepInclude<object>((await edge.turn(1)).create, { mode: "auto_edit" })
      assert.lengthOf(
        (await talk.messages()).filter(({ text }) => text.startsWith("The plan was approved.")),
        1
      )
    }
  )

  it("refuses the approval of a plan in a mode that only the Edge refuses", async () => {
    const { edge, id, world } = await askingRun(plan, "read_only")
    const issues = [{ path: "mode", message: "Choose another mode." }]
    const { answers } = edge.edge
    edge.edge.answers = (command) =>
      command.name === "AnswerInput"
        ? {
            _tag: "Refused",
            error: { code: "schema_validation_failed", message: "Invalid.", details: { issues } }
          }
        : answers(command)
    const refused = await answer(world.client, id, { approve: true, mode: "auto_edit" })
    assert.deepStrictEqual([refused.status, issuePaths(refused)], [422, ["mode"]])
    edge.edge.answers = answers
    assert.strictEqual((await answer(world.client, id, { approve: true, mode: "ask" })).status, 200)
    assert.strictEqual((await edge.turn(1)).create.mode, "ask")
  })

  it("takes no answers from API keys, and from a chat only those of its user in modes of a chat", async () => {
    const { id, world } = await askingRun(plan)
    const { client } = world
    const wanted = { name: "ci", scopes: ["read", "write"] as const, expiresInDays: 1 }
    const { token } = await hub.people.act(
      Effect.flatMap(ApiKeyStore, (keys) => keys.create(client.userId as UserId, wanted))
    )
    const key = new HubClient(hub.url, token, client.userId)
    assert.strictEqual((await key.ask("GET", `/client/inputs/${id}`)).status, 200)
    const account = newAccount()
    const gateway = gatewayOf(hub)
    const byChat = (body: object) =>
      gateway.ask<HubInput>("POST", `/client/inputs/${id}/answer`, { body, ...actingAs(account) })
    const refusals = [await answer(key, id, { approve: true }), await byChat({ approve: true })]
    const number = await confirmedLink(hub, account, client.userId)
    await gateway.ask("POST", "/integrations/bindings", { body: { ...account, number } })
    refusals.push(await byChat({ approve: true, mode: "full_access" }))
    assert.deepStrictEqual(
      refusals.map((refused) => [refused.status, codeOf(refused)]),
      [
        [403, "permission_denied"],
        [403, "binding_required"],
        [403, "permission_denied"]
      ]
    )
    const approved = await byChat({ approve: true, mode: "ask" })
    assert.deepInclude<object>(approved.body, { state: "answered", approved: true, origin: "chat" })
  })

  it("audits every outcome of an answer, without its content", async () => {
    const { id, world } = await askingRun()
    const viewer = await member(world, "vera", "viewer")
    await answer(viewer, id, { decline: true })
    await answer(world.client, id, { answers: { color: [{ other: "a private color" }] }, comment: "private" })
    await answer(world.client, id, { decline: true, comment: "private" })
    const trail = await world.client.ask<Page<AuditRecord>>(
      "GET",
      `/client/audit?projectId=${world.projectId}&action=input.answer`
    )
    assert.deepStrictEqual(
      trail.body.items
        .filter(({ action }) => action === "input.answer")
        .map(({ code, outcome, resource }) => [resource, outcome, code]),
      [
        [id, "failed", "input_already_resolved"],
        [id, "allowed", null],
        [id, "denied", "permission_denied"]
      ]
    )
    assert.notInclude(trail.text, "private")
  })

  it("audits an answer whose client disconnects before the Edge has answered", async () => {
    const { edge, id, world } = await askingRun()
    const { answers } = edge.edge
    const controller = new AbortController()
    edge.edge.answers = (command) => (command.name === "AnswerInput" ? undefined : answers(command))
    const lost = fetch(`${hub.url}/client/inputs/${id}/answer`, {
      method: "POST",
      signal: controller.signal,
      headers: { authorization: `Bearer ${world.client.token}`, "content-type": "application/json" },
      body: JSON.stringify({ answers: { color: ["red"] } })
    }).then(
      ({ status }) => String(status),
      (error: Error) => error.name
    )
    const command = await until(
      () => Promise.resolve(edge.edge.commands.find(({ name }) => name === "AnswerInput")),
      "the answer at the Edge",
      45_000
    )
    controller.abort()
    assert.strictEqual(await lost, "AbortError")
    // The Hub has seen the end of the connection before it serves these.
    for (let at = 0; at < 5; at++) await read(world.client, id)
    const outcome = answers(command)
    assert(outcome !== undefined)
    await edge.edge.done(command, outcome)
    const [record] = await until(
      async () => {
        const query = `projectId=${world.projectId}&action=input.answer`
        const { items } = (await world.client.ask<Page<AuditRecord>>("GET", `/client/audit?${query}`)).body
        const found = items.filter(({ action }) => action === "input.answer")
        return found.length > 0 ? found : undefined
      },
      "the record of the answer",
      20_000
    )
    assert.deepInclude<unknown>(record, { resource: id, outcome: "allowed", actor: world.client.userId })
  })

  it("cancels the questions of a run that ends", async () => {
    const world = await worldOf(hub)
    const mirror = new Mirror(hub, world.deviceId)
    const id = newId<InputRequestId>("inq")
    const runId: RunId = await mirror.run(world.projectId, createdRun, runStarted, inputRequested(id))
    await mirror.append(runId, 4, inputResolved(id, "cancelled"), runCompleted)
    assert.strictEqual((await read(world.client, id)).state, "cancelled")
    const run = (await world.client.ask<HubRun>("GET", `/client/runs/${runId}`)).body
    assert.deepStrictEqual([run.pendingInputs, run.turn, run.outstanding], [[], undefined, undefined])
  })
})
