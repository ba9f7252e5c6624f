/**
 * Readers of a decision agree: the Edge's event and approval, the Hub's, the audit, the console's fold, the command line and the chat card.
 * Covers every decision, scope, edit and origin.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Approval, Decision, DecisionScope } from "@corral/domain/approval/Approval"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import { decodeEvent, type Envelope } from "@corral/domain/run/RunEvent"
import { CSRF_HEADER, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import { Renderer } from "@corral/cli/run/Render"
import { summarizeApproval, resolvedCard } from "@corral/gateway/following/ApprovalCard"
import { csrfOf } from "@corral/hub/signin/SessionToken"
import { Result } from "effect"
import { Joined } from "@corral/testing/stack/Joined"
import { actingAs, confirmedLink, gatewayEnv, gatewayOf, newAccount } from "@corral/testing/hub/Chats"
import { HubClient } from "@corral/testing/hub/HubClient"
import { decodeEventFields } from "@corral/client/run/EventFields"
import { EventSequence } from "@corral/domain/run/EventSequence"
import { RunView } from "@corral/domain/run/RunView"

type Origin = "console" | "terminal" | "chat" | "editor"
type Decide = (id: string, body: object) => Promise<{ readonly status: number; readonly text: string }>

interface Case {
  readonly origin: Origin
  readonly decision: Decision
  readonly scope: DecisionScope
  readonly edited: boolean
}

const origins = ["console", "terminal", "chat", "editor"] as const
const decisions = ["allow", "deny", "cancel"] as const
const scopes = ["once", "run", "session", "always"] as const
const cases: ReadonlyArray<Case> = [
  ...origins.flatMap((origin, at) =>
    decisions.flatMap((decision) =>
      [false, true].map((edited) => ({ origin, decision, edited, scope: scopes[at] ?? "once" }))
    )
  ),
  ...scopes.flatMap((scope) =>
    [false, true].map((edited) => ({
      origin: "terminal" as const,
      decision: "allow" as const,
      edited,
      scope
    }))
  )
]

const nameOf = ({ decision, edited, origin, scope }: Case): string =>
  `${decision}, ${scope}, ${edited ? "edited" : "as requested"}, from the ${origin}`

const places = {
  console: "in the console",
  terminal: "in a terminal",
  chat: "in a chat",
  editor: "in an editor"
} as const

interface Page<A> {
  readonly items: ReadonlyArray<A>
}

describe("a decision reads the same in all its readers", () => {
  let joined: Joined
  const decide = new Map<Origin, Decide>()

  beforeAll(async () => {
    joined = await Joined.open({ hubEnv: gatewayEnv })
    const { hub } = joined
    const [web, cli] = [await hub.people.signIn("owner", "web"), await hub.people.signIn("owner", "cli")]
    const address = (id: string) => `/client/approvals/${id}/decide`
    const account = newAccount()
    const number = await confirmedLink(hub, account, web.userId)
    const gateway = gatewayOf(hub)
    const bound = await gateway.ask("POST", "/integrations/bindings", { body: { ...account, number } })
    assert.strictEqual(bound.status, 201, bound.text)
    decide.set("console", (id, body) =>
      new HubClient(hub.url, null).ask("POST", address(id), {
        body,
        headers: {
          cookie: `${SESSION_COOKIE}=${web.token}`,
          origin: joined.front.url,
          [CSRF_HEADER]: csrfOf(web.token)
        }
      })
    )
    decide.set("terminal", (id, body) => new HubClient(hub.url, cli.token).ask("POST", address(id), { body }))
    decide.set("editor", (id, body) => joined.owner.ask("POST", address(id), { body }))
    decide.set("chat", (id, body) => gateway.ask("POST", address(id), { body, ...actingAs(account) }))
  })
  afterAll(() => joined?.remove())

  const recordsOf = async (id: string, scope: string) =>
    (
      await joined.owner.ask<Page<AuditRecord>>(
        "GET",
        `/client/audit?action=approval.decide&limit=200${scope}`
      )
    ).body.items.filter(({ resource }) => resource === id)

  const rendered = (events: ReadonlyArray<Envelope>): string => {
    const nameOf = (user: string): string => user
    const renderer = new Renderer({ live: false, colours: false, invocation: "corral", named: "", nameOf })
    return events.map((event) => renderer.render({ decoded: Result.getOrThrow(decodeEvent(event)) })).join("")
  }

  /** What every reader says of the approval of one run. */
  const readers = async (runId: RunId, id: string) => {
    const edge = joined.edge.client
    const events = (await joined.owner.ask<Page<Envelope>>("GET", `/client/runs/${runId}/events?limit=200`))
      .body.items
    const hub = (await joined.owner.ask<HubApproval>("GET", `/client/approvals/${id}`)).body
    const view = new RunView()
    const sequence = new EventSequence(decodeEventFields)
    for (const event of events) {
      const next = sequence.nextOf(event)
      if (next !== undefined) view.apply(next)
    }
    return {
      events,
      edgeEvents: await edge.log(runId),
      edgeApproval: await edge.approval(id),
      hub,
      blocks: view.blocks,
      project: await recordsOf(id, `&projectId=${joined.projectId}`),
      own: await recordsOf(id, ""),
      text: rendered(events)
    }
  }

  const recordOf = ({
    allowedInput,
    decidedBy,
    decision,
    edited,
    origin,
    scope,
    state
  }: Partial<Approval>) => ({
    allowedInput,
    decidedBy,
    decision,
    edited,
    origin,
    scope,
    state
  })

  it.each(cases.map((one) => [nameOf(one), one] as const))("%s", async (_, one) => {
    const { decision, edited, origin, scope } = one
    const { runId } = await joined.task({ text: "/shell echo dangerous\n/say after" })
    const { pendingApprovals } = await joined.runWith(runId, (run) => run.pendingApprovals.length > 0)
    const id = String(pendingApprovals[0])
    const body = { decision, scope, ...(edited ? { updatedInput: { command: "echo harmless" } } : {}) }
    const answer = await decide.get(origin)?.(id, body)
    assert.strictEqual(answer?.status, 200, answer?.text)
    await joined.runWith(runId, ({ state }) => ["completed", "cancelled", "failed"].includes(state))
    const received = await readers(runId, id)

    const isEdited = edited && decision === "allow"
    const remembered = received.edgeApproval.scope
    const state = { allow: "approved", deny: "denied", cancel: "cancelled" }[decision]
    const decidedBy = String(joined.owner.userId)
    const allowedInput = isEdited ? { command: "echo harmless" } : undefined
    const record = { allowedInput, decidedBy, decision, edited: isEdited, origin, scope: remembered, state }
    assert.deepStrictEqual<object>(recordOf(received.edgeApproval), record)
    assert.deepStrictEqual<object>(recordOf(received.hub), record)
    assert.deepStrictEqual(received.events, received.edgeEvents)
    const resolved = received.events.find(({ type }) => type === "run.approval.resolved")?.payload ?? {}
    assert.deepStrictEqual<object>(recordOf({ ...resolved, decidedBy: String(resolved["by"]) }), record)
    assert.deepStrictEqual(
      resolved["requestedInput"],
      isEdited ? { command: "echo dangerous" } : undefined,
      "the event has both inputs"
    )
    assert.deepStrictEqual(received.hub.request.input, { command: "echo dangerous" })

    assert.lengthOf(received.project, 1)
    assert.deepStrictEqual(received.own, received.project)
    assert.deepInclude<object>(received.project[0] ?? {}, {
      actor: decidedBy,
      outcome: "allowed",
      details: { decision, scope: remembered, edited: isEdited, origin, runId, approvalId: id }
    })

    const approval = received.blocks.find(({ kind }) => kind === "approval")
    assert(approval?.kind === "approval")
    assert.deepStrictEqual<object>(recordOf(approval.resolution ?? {}), record)
    const call = received.blocks.find(({ kind }) => kind === "tool")
    assert(call?.kind === "tool")
    assert.isFalse(call.isWaiting)
    assert.strictEqual(call.allowedInput?.text.includes("harmless") ?? false, isEdited)

    assert.include(received.text, `${state}${isEdited ? " with changes" : ""}`)
    assert.include(received.text, places[origin])
    assert.strictEqual(received.text.includes("allowed command: echo harmless"), isEdited)
    assert.strictEqual(received.text.includes("(edited)"), isEdited)

    assert(received.hub.state !== "pending")
    const card = resolvedCard(
      { summary: summarizeApproval(received.hub.request), place: "here", url: "https://hub.example.test" },
      { ...received.hub, state: received.hub.state, by: decidedBy },
      "Ada"
    )
    const lines = JSON.stringify(card.lines).toLowerCase()
    assert.include(lines, places[origin])
    assert.strictEqual(lines.includes("changed"), isEdited)
    assert.notInclude(lines, "echo")
  })

  it("that is refused records the requested decision", async () => {
    const viewer = await joined.hub.signedIn("viewer")
    const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: viewer.userId, role: "viewer" }
    })
    assert.strictEqual(added.status, 201, added.text)
    const { runId } = await joined.task({ text: "/shell echo dangerous" })
    const { pendingApprovals } = await joined.runWith(runId, (run) => run.pendingApprovals.length > 0)
    const id = String(pendingApprovals[0])
    const body = { decision: "allow", scope: "run", updatedInput: { command: "echo mine" } }
    const refused = await viewer.ask("POST", `/client/approvals/${id}/decide`, { body })
    assert.strictEqual(refused.status, 403)
    const details = { decision: "allow", scope: "run", edited: true, origin: "editor", runId, approvalId: id }
    const [record] = await recordsOf(id, `&projectId=${joined.projectId}`)
    assert.deepInclude<object>(record ?? {}, { actor: String(viewer.userId), outcome: "denied", details })
    const cancelled = await joined.owner.ask("POST", `/client/runs/${runId}/cancel`)
    assert.strictEqual(cancelled.status, 200)
  })

  it("is in a chain that verifies", async () => {
    const verify = `/client/audit/verify?projectId=${joined.projectId}`
    assert.deepInclude<object>((await joined.owner.ask("GET", verify)).body as object, { ok: true })
  })
})
