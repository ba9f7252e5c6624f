/**
 * A Hub that plays scripted runs: it serves the built console, and answers its calls from the events that a test writes.
 *
 * For the looks and the keys of states that a real program reaches only with a model. *Does not:* check rights, or keep anything; joined tests
 * use the real Hub.
 */
import type { HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import type { InputAnswer } from "@corral/domain/input/InputRequest"
import type { HeldQueue } from "@corral/domain/run/AgentProfile"
import { type Envelope, type EventDraft, draft } from "@corral/domain/run/RunEvent"
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { extname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { ScriptedChanges } from "./ScriptedChanges.ts"
import { type ScriptedCandidate, ScriptedGroup } from "./ScriptedGroup.ts"
import type { ScriptedUsage } from "./ScriptedUsage.ts"

const pages = fileURLToPath(new URL("../../../../dist/hub/console", import.meta.url))
const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2"
}
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'"
].join("; ")

const start = Date.now() - 120_000
const id = (prefix: string, nth: number): string =>
  `${prefix}_01KAH2T3J0Q4W8XN5M7C1B${String(nth).padStart(4, "0")}`

const ids = {
  user: id("usr", 1),
  project: id("prj", 1),
  device: id("dev", 1),
  session: id("ses", 1),
  agent: id("agi", 1)
}

const capabilities = {
  deltas: true,
  approvals: true,
  editInput: true,
  resume: true,
  readOnly: true,
  cancel: true,
  input: true
}
const modes = ["read_only", "plan", "ask", "auto_edit", "full_access"] as const
const at = (seq = 0): string => new Date(start + seq * 1_000).toISOString()

const placement = { projectId: ids.project, targetId: ids.device, workspace: "shop", agentId: "claude" }

interface ScriptedRun {
  readonly id: string
  readonly mode: (typeof modes)[number]
  readonly prompt: string
  readonly events: Array<Envelope>
}

/** A further agent of the session, with its newest turn. Its fields replace those of an agent and a run that work. */
export interface Teammate {
  readonly agent: object
  /** Absent: no turn yet. */
  readonly run?: Partial<HubRun> & Pick<HubRun, "state"> & { readonly events?: ReadonlyArray<EventDraft> }
  /** Request that its turn waits for. */
  readonly request?: object
  /** Message that waits for it. */
  readonly queued?: string
}

/** A request that changes something. */
export interface Received {
  readonly path: string
  readonly body: unknown
}

export class ScriptedHub {
  /** Requests of the page besides reads, in order. */
  readonly received: Array<Received> = []
  /** Bytes of artifacts by id. */
  readonly artifacts = new Map<string, Buffer>()
  /** Messages that wait in the session. */
  readonly queued: Array<string> = []
  /** Budget of the run. */
  budget: HubRun["budget"]
  /** Why the messages that wait are held. */
  held: HeldQueue | undefined
  /** What the usage page reads. */
  usage: ScriptedUsage | undefined
  /** Agents besides the one of the run. */
  readonly team: Array<Teammate> = []
  /** Change set of the run. */
  changes: ScriptedChanges | undefined
  /** Several agents on one task, after the run. */
  group: ScriptedGroup | undefined
  /** The reader's role in the project, and its policy for decisions. */
  access: { readonly role: string; readonly ownRequests: boolean } = { role: "owner", ownRequests: true }
  private readonly runs: Array<ScriptedRun> = []
  private readonly inputs: Array<HubInput> = []
  private readonly streams = new Set<{
    readonly runId: string | undefined
    readonly response: ServerResponse
  }>()
  private readonly server: Server

  static async open(): Promise<ScriptedHub> {
    const hub = new ScriptedHub()
    await new Promise<void>((resolve) => hub.server.listen(0, "127.0.0.1", resolve))
    return hub
  }

  private constructor() {
    this.server = createServer((request, response) => void this.serve(request, response))
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Page of the session. */
  readonly thread = `/sessions/${ids.session}`

  async close(): Promise<void> {
    for (const { response } of this.streams) response.destroy()
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  /** Begins a run of the session. Ends all earlier ones. */
  run(prompt: string, mode: ScriptedRun["mode"] = "ask"): string {
    this.runs.length = 0
    this.inputs.length = 0
    this.received.length = 0
    this.queued.length = 0
    this.budget = undefined
    this.held = undefined
    this.team.length = 0
    this.changes = undefined
    this.group = undefined
    this.access = { role: "owner", ownRequests: true }
    const run = { id: id("run", this.runs.length + 1), mode, prompt, events: [] }
    this.runs.push(run)
    const created = { workspace: "shop", mode, input: { text: prompt } } as never
    this.push(draft("run.created", created), draft("run.started", { mode } as never))
    return run.id
  }

  /** Gives a task to several agents of the session. */
  startGroup(prompt: string, candidates: ReadonlyArray<ScriptedCandidate>): ScriptedGroup {
    const place = { id, at, placement, session: ids.session, user: ids.user }
    this.group = new ScriptedGroup(prompt, candidates, place)
    return this.group
  }

  /** Appends events to the current run. */
  push(...drafts: ReadonlyArray<EventDraft>): void {
    const run = this.current
    for (const { payload, type } of drafts) {
      const seq = run.events.length + 1
      const event = {
        id: id("evt", seq),
        seq,
        type,
        runId: run.id,
        sessionId: ids.session,
        createdAt: at(seq),
        payload: { v: 1, ...payload }
      } as unknown as Envelope
      run.events.push(event)
      if (type === "run.input.requested") this.inputs.push(this.inputOf(event))
      for (const { response, runId } of this.streams) if (runId === run.id) response.write(lineOf(event))
      const hint = { kind: "run", id: run.id, projectId: ids.project, state: this.stateOf() }
      for (const { response, runId } of this.streams)
        if (runId === undefined) response.write(`data: ${JSON.stringify(hint)}\n\n`)
    }
  }

  /** Says that the changes of the run are others now. */
  hintChanges(): void {
    const { changes, current } = this
    if (changes === undefined) return
    const { id: runId } = current
    const hint = {
      kind: "changes",
      id: `chs_${runId.slice(4)}`,
      runId,
      projectId: ids.project,
      state: changes.state
    }
    for (const open of this.streams)
      if (open.runId === undefined) open.response.write(`data: ${JSON.stringify(hint)}\n\n`)
  }

  private get factsOfChanges() {
    return { runId: this.runs.at(-1)?.id ?? "", sessionId: ids.session, user: ids.user }
  }

  /** Resolves an open question as the Edge would. */
  resolve(inputId: string, resolution: Partial<HubInput>): void {
    const place = this.inputs.findIndex((input) => input.id === inputId)
    const before = this.inputs[place]
    if (before === undefined) return
    this.inputs[place] = { ...before, ...resolution, resolvedAt: at(this.current.events.length + 1) }
    const { answeredBy: by, ...fields } = resolution
    this.push(
      draft("run.input.resolved", { inputId, ...fields, ...(by === undefined ? {} : { by }) } as never)
    )
  }

  private get current(): ScriptedRun {
    const run = this.runs.at(-1)
    if (run === undefined) throw new Error("no run")
    return run
  }

  private inputOf({ createdAt, payload, runId }: Envelope): HubInput {
    const { expiresAt, inputId, request } = payload as Record<string, object>
    return {
      ...placement,
      ...request,
      id: inputId,
      runId,
      state: "pending",
      requestedAt: createdAt,
      ...(expiresAt === undefined ? {} : { expiresAt })
    } as unknown as HubInput
  }

  private get pending(): ReadonlyArray<HubInput> {
    return this.inputs.filter(({ state }) => state === "pending")
  }

  private stateOf(): HubRun["state"] {
    const last = this.current.events.findLast(({ type }) => /^run\.(completed|failed|cancelled)$/.test(type))
    if (last !== undefined) return last.type.slice("run.".length) as HubRun["state"]
    return this.pending.length > 0 ? "waiting_input" : "running"
  }

  private runResource(): unknown {
    const { events, id: runId, mode, prompt } = this.current
    const turns = events.filter(({ type }) => /^run\.turn\.|^run\.started$/.test(type))
    const state = this.stateOf()
    const isOver = /^(?:completed|failed|cancelled)$/.test(state)
    const usage = this.payloadOf((payload) => payload["usage"])
    const error = this.payloadOf((payload) => payload["error"])
    return {
      ...placement,
      id: runId,
      state,
      ...(this.budget === undefined ? {} : { budget: this.budget }),
      ...(usage === undefined ? {} : { usage }),
      ...(error === undefined ? {} : { error }),
      mode,
      sessionId: ids.session,
      input: { text: prompt },
      timeoutMs: 1_800_000,
      lastSeq: events.length,
      pendingApprovals: [],
      pendingInputs: this.pending.map((input) => input.id),
      turn: turns.at(-1)?.type === "run.turn.ended" ? "idle" : "active",
      createdAt: at(),
      updatedAt: at(events.length),
      ...this.changesOfRun(),
      ...(isOver ? { endedAt: at(events.length) } : {}),
      ...(state === "completed" ? { resultText: "Done." } : {})
    }
  }

  /** What the newest event of the run says that says it. */
  private payloadOf(read: (payload: Envelope["payload"]) => unknown): unknown {
    const event = this.current.events.findLast(({ payload }) => read(payload) !== undefined)
    return event === undefined ? undefined : read(event.payload)
  }

  private changesOfRun(): object {
    const { changes } = this
    if (changes === undefined) return {}
    const { direct, fileCount, state } = changes
    const { id: runId } = this.current
    return {
      ...(direct ? {} : { isolation: "worktree" }),
      changes: {
        id: `chs_${runId.slice(4)}`,
        runId,
        state,
        fileCount,
        ...(direct ? { direct } : {})
      }
    }
  }

  /** What the Hub says of a further agent. */
  private teammate({ agent, queued, request, run }: Teammate, nth: number) {
    const runId = id("run", 100 + nth)
    const to = id("agi", 100 + nth)
    const { events: drafts = [], ...fields } = run ?? { state: "completed" }
    const isOver = /completed|failed|cancelled/.test(fields.state)
    const common = { sessionId: ids.session, version: 1, createdAt: at(nth) }
    const author = { kind: "user", userId: ids.user }
    const prompt = { ...common, id: id("msg", 200 + nth), author, to, text: `Task ${nth}` }
    const answer = { kind: "agent", agentInstanceId: to }
    const ended = { outcome: fields.state, runId, text: "Done.", createdAt: at(100) }
    return {
      agent: { id: to, label: "Agent", mode: "ask", addedAt: at(), ...placement, ...agent },
      run: {
        ...placement,
        id: runId,
        mode: "ask",
        sessionId: ids.session,
        input: { text: prompt.text },
        timeoutMs: 1_800_000,
        lastSeq: drafts.length,
        pendingApprovals: [],
        createdAt: at(nth),
        ...(isOver ? { endedAt: at(100) } : {}),
        updatedAt: at(nth),
        ...fields
      },
      events: drafts.map(({ payload, type }, seq) => ({
        id: id("evt", 1_000 * nth + seq),
        seq: seq + 1,
        type,
        runId,
        sessionId: ids.session,
        createdAt: at(seq),
        payload: {
          v: 1,
          ...payload
        }
      })),
      approvals:
        request === undefined
          ? []
          : [
              {
                ...placement,
                id: id("apr", nth),
                runId,
                state: "pending",
                request,
                requestedAt: at(nth),
                expiresAt: at(9_000)
              }
            ],
      messages: [
        ...(queued === undefined
          ? []
          : [{ ...prompt, id: id("msg", 400 + nth), text: queued, delivery: { state: "pending" } }]),
        ...(run !== undefined && isOver
          ? [{ ...common, id: id("msg", 300 + nth), author: answer, ...ended }]
          : []),
        ...(run === undefined ? [] : [{ ...prompt, delivery: { state: "delivered", runId } }])
      ]
    }
  }

  private messages(): ReadonlyArray<unknown> {
    const author = { kind: "user", userId: ids.user }
    const message = (nth: number, text: string, delivery: object) => ({
      id: id("msg", nth),
      sessionId: ids.session,
      author,
      text,
      to: ids.agent,
      delivery,
      version: nth,
      createdAt: at(nth)
    })
    const { events, id: runId, prompt } = this.current
    const first = message(1, prompt, { state: "delivered", runId })
    const held = this.held === undefined ? {} : { held: true }
    const waiting = this.queued.map((text, nth) => message(nth + 2, text, { state: "pending", ...held }))
    const outcome = this.stateOf()
    const error = this.payloadOf((payload) => payload["error"])
    const answer = {
      id: id("msg", 900),
      sessionId: ids.session,
      author: { kind: "agent", agentInstanceId: ids.agent },
      text: outcome === "completed" ? "Done." : "",
      runId,
      outcome,
      ...(error === undefined ? {} : { error }),
      version: 900,
      createdAt: at(events.length)
    }
    const isOver = /^(?:completed|failed|cancelled)$/.test(outcome)
    return [...(isOver ? [answer] : []), ...waiting.toReversed(), first]
  }

  private answer(inputId: string, answer: InputAnswer): readonly [status: number, body: unknown] {
    const input = this.inputs.find((each) => each.id === inputId)
    if (input === undefined) return [403, errorOf("permission_denied")]
    if (input.state !== "pending")
      return [409, errorOf("input_already_resolved", { inputId, state: input.state })]
    const issues = answerIssues(input, answer)
    if (issues.length > 0) return [422, errorOf("schema_validation_failed", { issues })]
    const by = { answeredBy: ids.user, origin: "console" } as unknown as Partial<HubInput>
    if ("decline" in answer) this.resolve(inputId, { ...by, state: "declined" })
    else if ("approve" in answer) {
      const { approve: approved, comment, mode } = answer
      const details = {
        ...(comment === undefined ? {} : { comment }),
        ...(mode === undefined ? {} : { mode })
      }
      this.resolve(inputId, { ...by, ...details, state: "answered", approved })
    } else this.resolve(inputId, { ...by, state: "answered", answers: answer.answers })
    return [200, this.inputs.find((each) => each.id === inputId)]
  }

  /** Answers to reads, by the path of the request. */
  private read(path: string, query: URLSearchParams): unknown {
    const team = this.team.map((member, nth) => this.teammate(member, nth))
    const target = {
      id: ids.device,
      name: "studio",
      state: "online",
      workspaces: [{ id: "shop", name: "shop", modes, git: true, available: true }],
      agents: [
        {
          id: "claude",
          label: "Claude Code",
          runtime: "claude",
          available: true,
          modes,
          counts: ["tokens", "turns", "cost"],
          capabilities
        }
      ]
    }
    const away = { ...target, id: id("dev", 2), name: "laptop", state: "offline", lastSeenAt: at() }
    const session = {
      id: ids.session,
      projectId: ids.project,
      title: "Opening hours",
      state: "active",
      updatedAt: at(),
      createdBy: ids.user,
      createdAt: at(),
      agents: [
        {
          id: ids.agent,
          label: "Claude Code",
          mode: "ask",
          addedAt: at(),
          addedBy: ids.user,
          ...placement,
          ...(this.held === undefined ? {} : { held: this.held })
        },
        ...team.map(({ agent }) => agent),
        ...(this.group?.agents ?? [])
      ],
      defaultAgentInstanceId: this.group?.defaultAgent ?? ids.agent,
      activeRuns: /^(?:completed|failed|cancelled)$/.test(this.stateOf()) ? [] : [this.current.id]
    }
    const project = {
      id: ids.project,
      name: "Shop",
      visibility: "private",
      approvals: { approvers: "member", ownRequests: this.access.ownRequests },
      chats: { answers: "direct" },
      timeZone: this.usage?.timeZone ?? "UTC",
      role: this.access.role,
      createdAt: at(),
      updatedAt: at()
    }
    const runId = query.get("runId")
    const approvals = team
      .flatMap((member) => member.approvals)
      .filter((approval) => runId === null || approval.runId === runId)
    const ofMember = team.find(({ run }) => path.startsWith(`/client/runs/${run.id}`))
    if (ofMember !== undefined) return path.endsWith("/events") ? page(ofMember.events) : ofMember.run
    const ofGroup = this.group?.runs.find(({ id: runId }) => path.startsWith(`/client/runs/${runId}`))
    if (ofGroup !== undefined) return path.endsWith("/events") ? page([]) : ofGroup
    const inputs = query.get("state") === "pending" ? this.pending : this.inputs
    const input = this.inputs.find(({ id: inputId }) => path === `/client/inputs/${inputId}`)
    const answersByPath: Readonly<Record<string, unknown>> = {
      "/client/auth/me": { user: { id: ids.user, name: "Ana Example" }, kind: "web", expiresAt: at(86_400) },
      "/client/preferences": { version: 0 },
      "/client/projects": page([project]),
      [`/client/projects/${ids.project}`]: project,
      "/client/devices": page([{ ...target, kind: "desktop", sharedWith: [ids.project] }]),
      [`/client/devices/${ids.device}`]: target,
      "/client/targets": page([target, away]),
      "/client/sessions": page([session]),
      [`/client/sessions/${ids.session}`]: session,
      [`/client/sessions/${ids.session}/messages`]: page([
        ...(this.group?.messages ?? []),
        ...team.flatMap(({ messages }) => messages),
        ...this.messages()
      ]),
      "/client/runs": page([...(this.group?.runs ?? []), this.runResource(), ...team.map(({ run }) => run)]),
      [`/client/task-groups/${this.group?.id}`]: this.group?.resource,
      [`/client/task-groups/${this.group?.id}/comparison`]: this.group?.comparison,
      "/client/approvals": page(approvals),
      [`/client/runs/${this.current.id}`]: this.runResource(),
      [`/client/runs/${this.current.id}/events`]: { items: this.current.events, nextCursor: null },
      "/client/changes": page([
        ...(this.changes?.state === "open" && !this.changes.live
          ? [{ ...(this.changes.setOf(this.factsOfChanges) as object), ...placement }]
          : []),
        ...(this.group?.openSets ?? [])
      ]),
      "/client/inputs": page(inputs),
      [`/client/projects/${ids.project}/workspaces`]: page([{ targetId: ids.device, workspace: "shop" }])
    }
    return input ?? answersByPath[path] ?? page([])
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://hub")
    if (pathname === "/web/agent-tasks") return this.createTask(await bodyOf(request), response)
    if (!pathname.startsWith("/client/")) return servePage(pathname, response)
    const { usage } = this
    const { method = "GET" } = request
    if (usage?.serves(method, pathname) === true) {
      const body = method === "GET" ? undefined : await bodyOf(request)
      if (method !== "GET") this.received.push({ path: pathname, body })
      return sendJson(response, ...usage.answer(method, pathname, searchParams, body))
    }
    const [, runId = "", ofChanges = ""] =
      /^\/client\/runs\/([^/]+)\/changes(?:\/(.+))?$/.exec(pathname) ?? []
    const found = this.group?.changesOf(runId) ?? { changes: this.changes, facts: this.factsOfChanges }
    if (runId !== "" && found.changes !== undefined) {
      const { changes, facts } = found
      if (request.method === "GET") return sendJson(response, ...changes.read(pathname, searchParams, facts))
      const body = await bodyOf(request)
      this.received.push({ path: pathname, body })
      return sendJson(response, ...(await changes.decide(ofChanges, body, facts)))
    }
    if (request.method !== "GET") return this.change(pathname, await bodyOf(request), response)
    const artifact = this.artifacts.get(/artifacts\/([^/]+)\/content$/.exec(pathname)?.[1] ?? "")
    if (artifact !== undefined) {
      response.writeHead(200, { "content-type": "application/octet-stream" }).end(artifact)
      return
    }
    if ((request.headers.accept ?? "").includes("text/event-stream"))
      return this.stream(pathname, searchParams, response)
    sendJson(response, 200, this.read(pathname, searchParams))
  }

  /** A task with candidates is in the session. */
  private createTask(body: unknown, response: ServerResponse): void {
    this.received.push({ path: "/web/agent-tasks", body })
    sendJson(response, 201, { id: id("tsk", 1), sessionId: ids.session, groupId: id("tgr", 1) })
  }

  private change(path: string, body: unknown, response: ServerResponse): void {
    this.received.push({ path, body })
    const [, inputId] = /^\/client\/inputs\/([^/]+)\/answer$/.exec(path) ?? []
    if (inputId !== undefined) return sendJson(response, ...this.answer(inputId, body as InputAnswer))
    const [, command] = /^\/client\/task-groups\/[^/]+\/(\w+)$/.exec(path) ?? []
    if (command !== undefined && this.group !== undefined)
      return sendJson(response, ...this.group.command(command, body))
    sendJson(response, 200, path.startsWith("/client/runs/") ? this.runResource() : {})
  }

  private stream(path: string, query: URLSearchParams, response: ServerResponse): void {
    const runId = /^\/client\/runs\/([^/]+)\/events$/.exec(path)?.[1]
    const open = { runId, response }
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(":\n\n")
    if (runId !== undefined)
      for (const event of (runId === this.current.id ? this.current.events : []).slice(
        Number(query.get("after") ?? 0)
      ))
        response.write(lineOf(event))
    this.streams.add(open)
    response.on("close", () => this.streams.delete(open))
  }
}

const page = (items: ReadonlyArray<unknown>) => ({ items, nextCursor: null })

const lineOf = (event: Envelope): string => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`

const errorOf = (code: string, details: object = {}) => ({
  error: { code, message: code, retryable: false, requestId: "req_1", details }
})

const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
  let text = ""
  for await (const part of request) text += String(part)
  return text === "" ? undefined : JSON.parse(text)
}

const sendJson = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const servePage = (path: string, response: ServerResponse): void => {
  const name = extname(path) === "" ? "/index.html" : path
  try {
    const file = readFileSync(join(pages, name))
    response
      .writeHead(200, {
        "content-type": types[extname(name)] ?? "application/octet-stream",
        "content-security-policy": policy
      })
      .end(file)
  } catch {
    response.writeHead(404).end()
  }
}
